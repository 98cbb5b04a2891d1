// gyre data tokenize: splits text into the tokens of the Moses tokenizer.
#include <memory>

#include "gyre/data/text/moses/moses_tokenizer.h"
#include "tools/commands/data/moses_filter.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct TokenizeArgs {
  MosesFilter filter;
  NormalizationOptions normalization;
  MosesOptions moses;
  bool normalizes_punctuation = false;
  const OptionTable* table = nullptr;
};

int tokenize(const TokenizeArgs& args) {
  args.table->reject_unused("perl-quotes", args.normalizes_punctuation, "--normalize-punctuation is not given");
  const LineTransform normalize = args.normalization.transform(args.filter.language, args.normalizes_punctuation);
  const MosesTokenizer tokenizer(args.filter.language, args.moses);
  args.filter.run([&](const std::string& line) { return tokenizer.tokenize(normalize(line)); });
  return 0;
}

}  // namespace

void add_data_tokenize_command(Program& program) {
  auto args = std::make_shared<TokenizeArgs>();
  OptionTable& table = program.command("data tokenize", "split text into the tokens of the Moses tokenizer",
                                       [args] { return tokenize(*args); });
  args->table = &table;
  args->filter.add_language_row(table);
  table.add_flag("--escape,!--no-escape", args->moses.escape,
                 "write & | < > ' \" [ ] as entities; --no-escape: as they are");
  table.add_flag("--aggressive-hyphens,-a", args->moses.aggressive_hyphens,
                 "split hyphens within words: well @-@ known");
  table.add_flag("--normalize-punctuation", args->normalizes_punctuation,
                 "normalize punctuation first, like gyre data normalize");
  args->normalization.add_rows(table);
  args->filter.add_rows(table);
}

}  // namespace gyre
