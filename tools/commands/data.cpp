// gyre data build|generate|info: builds and inspects token stores, and generates the synthetic corpus.
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/core/io/output_target.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/sizes.h"
#include "gyre/data/store/build_store.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/synthetic/embedded_corpus.h"
#include "gyre/train/log/stopwatch.h"
#include "tools/options/cpu_threads.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct BuildArgs {
  Path vocabulary, target, output;
  std::vector<Path> sources;
  TextOptions text;
  std::string on_bad_line = "default", documents = "none";
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

void print_rate(uint64_t bytes, double seconds) {
  const double megabytes = double(bytes) * 1e-6, rate = megabytes / seconds * 60 / threads();
  std::fprintf(stderr, "%.1f MB of text in %.1f s with --cpu-threads %d: %.0f MB per minute and thread\n", megabytes,
               seconds, threads(), rate);
}

void require_inputs_kept(const BuildArgs& args) {
  require_no_input(args.output, args.sources);
  require_no_input(args.output, {args.target, args.vocabulary});
}

// Returns the size of the text in bytes.
uint64_t build_documents(const BuildArgs& args) {
  if (!args.target.empty()) throw UsageError("[data] --documents: expected no --target");
  require_inputs_kept(args);
  const auto report = build_document_store(*load_vocabulary(args.vocabulary), args.sources, args.output,
                                           parse_document_end(args.documents), args.text.on_bad_line);
  uint64_t bytes = 0;
  for (const LineReport& file : report.files) {
    std::cerr << file.describe() << '\n';
    bytes += file.bytes;
  }
  std::cerr << counted(report.documents, "document") << '\n';
  return bytes;
}

uint64_t build_sentences(const BuildArgs& args) {
  if (args.sources.size() > 1) throw UsageError("[data] --source: expected one file without --documents, got several");
  std::vector<Path> files = args.sources;
  if (!args.target.empty()) files.push_back(args.target);
  require_inputs_kept(args);
  const auto report = build_token_store(*load_vocabulary(args.vocabulary), files, args.output, args.text);
  std::cerr << report.describe() << '\n';
  return report.bytes;
}

int build(BuildArgs& args) {
  args.threads.use();
  const Stopwatch clock;
  const bool is_documents = args.documents != "none";
  for (const char* name : {"max-length", "max-length-crop"}) {
    args.table->reject_unused(name, !is_documents, "documents are split into samples in training");
  }
  args.table->reject_unused("on-bad-line", args.documents != "whole", "--documents is whole");
  args.text.on_bad_line = parse_on_bad_line(args.on_bad_line);
  const uint64_t bytes = is_documents ? build_documents(args) : build_sentences(args);
  print_rate(bytes, clock.seconds());
  return 0;
}

struct GenerateArgs {
  Path output;
  uint64_t seed = 1, train = 20000, validation = 500, test = 500;
  bool overwrite = false;
};

void check(const GenerateArgs& args) {
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

int generate(const GenerateArgs& args) {
  check(args);
  std::filesystem::create_directories(args.output);
  write_pairs(args.output / "train", generate_corpus(args.seed, Split::train, args.train), 0, args.train);
  const auto heldout = generate_corpus(args.seed, Split::heldout, args.validation + args.test);
  write_pairs(args.output / "val", heldout, 0, args.validation);
  write_pairs(args.output / "test", heldout, args.validation, heldout.size());
  return 0;
}

struct InfoArgs {
  Path store;
  bool verify = false, json = false;
};

int info(const InfoArgs& args) {
  const TokenStore store(args.store);
  if (args.verify) store.verify();
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
  for (int side = 0; side < store.sides(); ++side) tokens.push_back(store.total_tokens(side));
  const uint64_t documents = count_documents(store);  // each document ends with an empty sentence
  nlohmann::ordered_json summary{{"store", store.name()}, {"sides", store.sides()}};
  if (documents > 0) summary["documents"] = documents;
  summary.update({{"sentences", store.size() - documents},
                  {"tokens", tokens},
                  {"vocabulary_size", store.vocabulary_size()},
                  {"vocabulary_fingerprint", store.fingerprint()}});
  print_summary(summary, args.json);
  return 0;
}

void add_build(Program& program) {
  auto args = std::make_shared<BuildArgs>();
  OptionTable& table =
      program.command("data build", "convert text to a memory-mapped token store", [args] { return build(*args); });
  args->table = &table;
  table.add("--vocab,-v", args->vocabulary, "FILE", "vocabulary of both sides");
  table.add("--source,-s", args->sources, "FILE", "text, one sentence per line; with --documents any number of files");
  table.add("--target,-t", args->target, "FILE",
            "translation of the text, line by line; default: a store with one side");
  table.add("--output,-o", args->output, "FILE", "token store to write");
  for (const char* name : {"vocab", "source", "output"}) table.required(name);
  table.add_choice("--documents", args->documents, {"none", "blank-line", "line", "whole"},
                   "document boundaries, for language models; whole: one document per file, every byte of which "
                   "counts, including line ends");
  table.add("--max-length", args->text.max_length, "TOKENS",
            "maximum tokens of a line, on either side; longer lines are bad");
  table.add_flag("--max-length-crop", args->text.crop, "truncate lines to --max-length instead");
  table.add_choice("--on-bad-line", args->on_bad_line, {"default", "error", "skip"},
                   "handling of bad lines; default: error for invalid UTF-8 and unequal line counts, skip for empty "
                   "and overlong lines");
  args->threads.add_row(table);
}

void add_generate(Program& program) {
  auto args = std::make_shared<GenerateArgs>();
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

void add_info(Program& program) {
  auto args = std::make_shared<InfoArgs>();
  OptionTable& table = program.command("data info", "print a summary of a token store", [args] { return info(*args); });
  table.add("--store,--input,-i", args->store, "FILE", "token store");
  table.required("store");
  table.add_flag("--verify", args->verify, "verify the checksums first");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace

void add_data_commands(Program& program) {
  program.describe_group("data", "build token stores and generate a corpus");
  add_build(program);
  add_generate(program);
  add_info(program);
}

}  // namespace gyre
