// gyre data normalize: normalizes punctuation as normalize-punctuation.perl does.
#include <memory>

#include "tools/commands/data/moses_filter.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct NormalizeArgs {
  MosesFilter filter;
  NormalizationOptions normalization;
};

int normalize(const NormalizeArgs& args) {
  args.filter.run(args.normalization.transform(args.filter.language, true));
  return 0;
}

}  // namespace

void add_data_normalize_command(Program& program) {
  auto args = std::make_shared<NormalizeArgs>();
  OptionTable& table =
      program.command("data normalize", "normalize punctuation, like Moses", [args] { return normalize(*args); });
  args->filter.add_language_row(table);
  args->normalization.add_rows(table);
  args->filter.add_rows(table);
}

}  // namespace gyre
