// gyre data generate: writes the synthetic English-German corpus.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/synthetic/embedded_corpus.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct GenerateCorpusArgs {
  Path output;
  uint64_t seed = 1, train = 20000, validation = 500, test = 500;
  bool overwrite = false;
};

void check(const GenerateCorpusArgs& args) {
  for (const auto& [name, pairs] : {std::pair{"train", args.train}, {"val", args.validation}, {"test", args.test}}) {
    if (pairs > uint64_t(kMaxDimension))
      throw UsageError("--", name, ": expected at most ", kMaxDimension, " pairs, got ", pairs);
    for (const char* language : {".en", ".de"}) {
      const Path file = args.output / (std::string(name) + language);
      require(args.overwrite || !std::filesystem::exists(file), file.string(),
              " already exists: use --overwrite or another --output");
    }
  }
}

// Writes <stem>.en and <stem>.de with pairs [begin, end).
void write_pairs(const Path& stem, const std::vector<SentencePair>& pairs, size_t begin, size_t end) {
  std::string source, target;
  for (size_t i = begin; i < end; ++i) {
    (source += pairs[i].source) += '\n';
    (target += pairs[i].target) += '\n';
  }
  write_file(Path(stem) += ".en", source);
  write_file(Path(stem) += ".de", target);
}

int generate(const GenerateCorpusArgs& args) {
  check(args);
  std::filesystem::create_directories(args.output);
  write_pairs(args.output / "train", generate_corpus(args.seed, Split::train, args.train), 0, args.train);
  const auto heldout = generate_corpus(args.seed, Split::heldout, args.validation + args.test);
  write_pairs(args.output / "val", heldout, 0, args.validation);
  write_pairs(args.output / "test", heldout, args.validation, heldout.size());
  return 0;
}

}  // namespace

void add_data_generate_command(Program& program) {
  auto args = std::make_shared<GenerateCorpusArgs>();
  OptionTable& table = program.command("data generate", "generate the synthetic English-German corpus",
                                       [args] { return generate(*args); });
  table.add("--output,-o", args->output, "DIRECTORY", "directory for train.en, train.de, val.*, test.*");
  table.required("output");
  table.add_flag("--overwrite", args->overwrite, "replace existing files");
  table.add("--seed", args->seed, "NUMBER", "random seed, which determines the corpus");
  table.add("--train", args->train, "PAIRS", "training pairs");
  table.add("--val", args->validation, "PAIRS", "held-out validation pairs");
  table.add("--test", args->test, "PAIRS", "held-out test pairs");
}

}  // namespace gyre
