// gyre data build|generate|info: token stores, and the embedded corpus.
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/counted.h"
#include "core/error.h"
#include "core/kernels.h"
#include "core/output_target.h"
#include "core/sizes.h"
#include "data/build_store.h"
#include "data/corpus/embedded_corpus.h"
#include "data/document_store.h"
#include "tools/cpu_threads.h"
#include "tools/facts.h"
#include "tools/program.h"
#include "train/stopwatch.h"

namespace gyre {

namespace {

struct Build {
  Path vocabulary, target, output;
  std::vector<Path> sources;
  TextOptions text;
  std::string on_bad_line = "default", documents = "none";
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

void print_rate(uint64_t bytes, double seconds) {
  const double megabytes = double(bytes) * 1e-6, rate = megabytes / seconds * 60 / threads();
  std::fprintf(stderr, "%.1f MB of text in %.1f s with --cpu-threads %d: %.0f MB a minute per thread\n", megabytes,
               seconds, threads(), rate);
}

void require_inputs_kept(const Build& call) {
  require_no_input(call.output, call.sources);
  require_no_input(call.output, {call.target, call.vocabulary});
}

// Returns the bytes of text.
uint64_t build_documents(const Build& call) {
  if (!call.target.empty()) throw UsageError("[data] --documents: expected no --target");
  require_inputs_kept(call);
  const auto report = build_document_store(*load_vocabulary(call.vocabulary), call.sources, call.output,
                                           parse_document_end(call.documents), call.text.on_bad_line);
  uint64_t bytes = 0;
  for (const LineReport& file : report.files) {
    std::cerr << file.describe() << '\n';
    bytes += file.bytes;
  }
  std::cerr << counted(report.documents, "document") << '\n';
  return bytes;
}

uint64_t build_sentences(const Build& call) {
  if (call.sources.size() > 1) throw UsageError("[data] --source: several files need --documents");
  std::vector<Path> files = call.sources;
  if (!call.target.empty()) files.push_back(call.target);
  require_inputs_kept(call);
  const auto report = build_token_store(*load_vocabulary(call.vocabulary), files, call.output, call.text);
  std::cerr << report.describe() << '\n';
  return report.bytes;
}

int build(Build& call) {
  call.threads.use();
  const Stopwatch clock;
  const bool is_documents = call.documents != "none";
  for (const char* name : {"max-length", "max-length-crop"}) {
    call.table->reject_idle(name, !is_documents, "documents are cut to length when a model is trained");
  }
  call.table->reject_idle("on-bad-line", call.documents != "whole", "--documents is whole");
  call.text.on_bad_line = parse_on_bad_line(call.on_bad_line);
  const uint64_t bytes = is_documents ? build_documents(call) : build_sentences(call);
  print_rate(bytes, clock.seconds());
  return 0;
}

struct Generate {
  Path output;
  uint64_t seed = 1, train = 20000, validation = 500, test = 500;
  bool overwrite = false;
};

void check(const Generate& call) {
  for (const auto& [name, pairs] : {std::pair{"train", call.train}, {"val", call.validation}, {"test", call.test}}) {
    if (pairs > uint64_t(kLargestSize))
      throw UsageError("--", name, ": expected at most ", kLargestSize, " pairs, got ", pairs);
    for (const char* language : {".en", ".de"}) {
      const Path file = call.output / (std::string(name) + language);
      require(call.overwrite || !std::filesystem::exists(file), file.string(),
              " exists already: give --overwrite or another --output");
    }
  }
}

// <name>.en and <name>.de of pairs [begin, end).
void write_pairs(const Path& stem, const std::vector<SentencePair>& pairs, size_t begin, size_t end) {
  std::string source, target;
  for (size_t i = begin; i < end; ++i) {
    (source += pairs[i].source) += '\n';
    (target += pairs[i].target) += '\n';
  }
  write_file(Path(stem) += ".en", source);
  write_file(Path(stem) += ".de", target);
}

int generate(const Generate& call) {
  check(call);
  std::filesystem::create_directories(call.output);
  write_pairs(call.output / "train", generate_corpus(call.seed, Split::train, call.train), 0, call.train);
  const auto heldout = generate_corpus(call.seed, Split::heldout, call.validation + call.test);
  write_pairs(call.output / "val", heldout, 0, call.validation);
  write_pairs(call.output / "test", heldout, call.validation, heldout.size());
  return 0;
}

struct Info {
  Path store;
  bool verify = false, json = false;
};

int info(const Info& call) {
  const TokenStore store(call.store);
  if (call.verify) store.verify();
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
  for (int side = 0; side < store.sides(); ++side) tokens.push_back(store.total_tokens(side));
  const uint64_t documents = count_documents(store);  // each ends with an empty sentence
  nlohmann::ordered_json facts{{"store", store.name()}, {"sides", store.sides()}};
  if (documents > 0) facts["documents"] = documents;
  facts.update({{"sentences", store.size() - documents},
                {"tokens", tokens},
                {"vocabulary_size", store.vocabulary_size()},
                {"vocabulary_fingerprint", store.fingerprint()}});
  print_facts(facts, call.json);
  return 0;
}

void add_build(Program& program) {
  auto call = std::make_shared<Build>();
  OptionTable& table =
      program.command("data build", "turn text into a memory-mapped token store", [call] { return build(*call); });
  call->table = &table;
  table.add("--vocab,-v", call->vocabulary, "FILE", "the vocabulary of both sides");
  table.add("--source,-s", call->sources, "FILE", "text, one sentence a line; with --documents any number of files");
  table.add("--target,-t", call->target, "FILE", "its translation, line by line; absent: a store of one side");
  table.add("--output,-o", call->output, "FILE", "the token store");
  for (const char* name : {"vocab", "source", "output"}) table.required(name);
  table.add_choice("--documents", call->documents, {"none", "blank-line", "line", "whole"},
                   "text of one language for language models: where a document ends; whole: with its file, every byte "
                   "of which counts, line ends too");
  table.add("--max-length", call->text.max_length, "TOKENS", "longer lines, on either side, are bad");
  table.add_flag("--max-length-crop", call->text.crop, "cut them to --max-length instead");
  table.add_choice("--on-bad-line", call->on_bad_line, {"default", "error", "skip"},
                   "default: error for bad UTF-8 and unequal counts, skip for empty and overlong");
  call->threads.add_row(table);
}

void add_generate(Program& program) {
  auto call = std::make_shared<Generate>();
  OptionTable& table =
      program.command("data generate", "write the embedded English-German corpus", [call] { return generate(*call); });
  table.add("--output,-o", call->output, "DIRECTORY", "gets train.en, train.de, val.*, test.*");
  table.required("output");
  table.add_flag("--overwrite", call->overwrite, "replace the files of these names");
  table.add("--seed", call->seed, "NUMBER", "the corpus is a pure function of it");
  table.add("--train", call->train, "PAIRS", "to train on");
  table.add("--val", call->validation, "PAIRS", "held out for validation");
  table.add("--test", call->test, "PAIRS", "held out for the test");
}

void add_info(Program& program) {
  auto call = std::make_shared<Info>();
  OptionTable& table = program.command("data info", "print what a token store holds", [call] { return info(*call); });
  table.add("--store,--input,-i", call->store, "FILE", "the token store");
  table.required("store");
  table.add_flag("--verify", call->verify, "compare every byte with the checksums first");
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace

void add_data_commands(Program& program) {
  program.describe_group("data", "corpora and token stores");
  add_build(program);
  add_generate(program);
  add_info(program);
}

}  // namespace gyre
