// gyre data detokenize: joins the tokens of the Moses tokenizer to text.
#include <memory>

#include "gyre/data/text/moses/moses_tokenizer.h"
#include "tools/commands/data/moses_filter.h"
#include "tools/program.h"

namespace gyre {

namespace {

int detokenize(const MosesFilter& filter) {
  const MosesDetokenizer detokenizer(filter.language);
  filter.run([&](const std::string& line) { return detokenizer.detokenize(line); });
  return 0;
}

}  // namespace

void add_data_detokenize_command(Program& program) {
  auto filter = std::make_shared<MosesFilter>();
  OptionTable& table = program.command("data detokenize", "join the tokens of the Moses tokenizer to text",
                                       [filter] { return detokenize(*filter); });
  filter->add_language_row(table);
  filter->add_rows(table);
}

}  // namespace gyre
