// gyre data build and gyre data info: converts text to a token store, and describes a store.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/data/store/build_store.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/document_options.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "tools/command_line/messages.h"
#include "tools/commands/text_progress.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

struct BuildArgs {
  Path vocabulary, target_vocabulary, target, output;
  std::vector<Path> sources;
  TokenizerChoice tokenizer;
  TextOptions text;
  std::string documents = "none", text_field = "text";
  std::optional<LineEnds> line_ends;
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

// Returns the size of the text in bytes.
uint64_t build_documents(const BuildArgs& args, const Vocabulary& vocabulary, TextInputs sources,
                         TextProgress& progress) {
  if (!args.target.empty()) throw UsageError("[data] --documents: expected no --target");
  DocumentOptions options{.end = parse_document_end(args.documents == "none" ? "line" : args.documents),
                          .line_ends = args.line_ends,
                          .text_field = args.text_field,
                          .on_bad_line = args.text.on_bad_line,
                          .on_progress = progress.callback()};
  const auto report = build_document_store(vocabulary, std::move(sources), args.output, options);
  progress.clear();
  uint64_t bytes = 0;
  for (const LineReport& file : report.files) {
    print_message(file.describe());
    bytes += file.bytes;
  }
  print_message(counted(report.documents, "document"));
  return bytes;
}

uint64_t build_sentences(BuildArgs& args, const Vocabulary& vocabulary, TextInputs files, TextProgress& progress) {
  if (files.size() > 1) throw UsageError("[data] --source: expected one file without --documents, got several");
  if (!args.target.empty()) files.emplace_back(args.target);
  args.text.on_progress = progress.callback();
  const auto report = build_token_store(vocabulary, std::move(files), args.output, args.text);
  progress.clear();
  print_message(report.describe());
  return report.bytes;
}

// JSON lines are documents, whether --documents says so or not.
bool has_documents(const BuildArgs& args, const TextInputs& sources) {
  if (args.documents != "none" || !args.target.empty()) return args.documents != "none";
  return std::all_of(sources.begin(), sources.end(),
                     [](const TextInput& source) { return source.kind() == TextKind::json_lines; });
}

int build(BuildArgs& args) {
  args.threads.use();
  const Stopwatch clock;
  const std::vector<Path> files = expand_paths(args.sources);
  require_no_input(args.output, files);
  require_no_input(args.output, {args.target, args.vocabulary, args.target_vocabulary, args.tokenizer.dictionary});
  const auto vocabulary = load_vocabulary(args.vocabulary, args.target_vocabulary, args.tokenizer);
  if (const std::string note = vocabulary->note(); !note.empty()) print_message(note);
  TextInputs sources(files);
  const bool is_documents = has_documents(args, sources);
  for (const char* name : {"max-length", "max-length-crop"}) {
    args.table->reject_unused(name, !is_documents, "documents are split into samples in training");
  }
  for (const char* name : {"line-ends", "text-field"})
    args.table->reject_unused(name, is_documents, "without --documents, lines are sentences");
  for (const char* name : {"on-bad-line", "line-ends"})
    args.table->reject_unused(name, args.documents != "whole", "--documents is whole");
  TextProgress progress(false);
  const uint64_t bytes = is_documents ? build_documents(args, *vocabulary, std::move(sources), progress)
                                      : build_sentences(args, *vocabulary, std::move(sources), progress);
  print_text_rate(bytes, clock.seconds());
  return 0;
}

}  // namespace

void add_data_build_command(Program& program) {
  program.describe_group("data", "clean and check text, build token stores, generate a corpus");
  auto args = std::make_shared<BuildArgs>();
  OptionTable& table =
      program.command("data build", "convert text to a memory-mapped token store", [args] { return build(*args); });
  args->table = &table;
  table.add(Option("--vocab,-v", vocabulary_value(&args->vocabulary, &args->target_vocabulary), "FILE...",
                   "vocabulary of both sides, or one of the source and one of the target"));
  table.add_options(args->tokenizer);
  table.add("--source,-s", args->sources, "FILE...",
            "text, one sentence per line; with --documents or JSON lines any number of files, folders and patterns");
  table.add("--target,-t", args->target, "FILE",
            "translation of the text, line by line; default: a store with one side");
  table.add("--output,-o", args->output, "FILE", "token store to write");
  for (const char* name : {"vocab", "source", "output"}) table.required(name);
  table.add(documents_option(&args->documents, "; none: lines are sentences; every one of JSON lines is a document",
                             {"none", "blank-line", "line", "whole"}));
  table.add(line_ends_option(&args->line_ends, "keep if the vocabulary can write line ends, else none"));
  table.add(text_field_option(&args->text_field));
  table.add("--max-length", args->text.max_length, "TOKENS",
            "maximum tokens of a line, on either side; longer lines are bad");
  table.add_flag("--max-length-crop", args->text.crop, "truncate lines to --max-length instead");
  table.add_enum("--on-bad-line", args->text.on_bad_line,
                 "handling of bad lines; default: error for invalid UTF-8, bad JSON and unequal line counts, skip for "
                 "empty and overlong lines");
  args->threads.add_row(table);
}

// ---- gyre data info: prints a summary of a token store -------------------------------------------------------------

namespace {

struct InfoArgs {
  Path store;
  bool verify = false, json = false;
};

std::string line_ends_text(const TokenStore& store) {
  if (store.is_of_earlier_version())
    return "not recorded by the earlier version that built the store: none, or all of them with --documents whole";
  return std::string(enum_name(store.line_ends().value_or(LineEnds::none)));
}

int info(const InfoArgs& args) {
  const TokenStore store(args.store);
  if (args.verify) store.verify();
  Json tokens = Json::array();
  for (int side = 0; side < store.sides(); ++side) tokens.push_back(store.total_tokens(side));
  const uint64_t documents = count_documents(store);  // each document ends with an empty sentence
  Json summary{{"store", store.name()}, {"sides", store.sides()}};
  if (documents > 0) summary["documents"] = documents;
  summary.update({{"sentences", store.size() - documents},
                  {"tokens", tokens},
                  {"vocabulary_size", store.vocabulary_size()},
                  {"vocabulary_fingerprint", store.fingerprint()}});
  if (documents > 0) summary["line_ends"] = line_ends_text(store);
  for (const Path& file : store.id_files()) summary["ids_in"].push_back(file.string());
  print_summary(summary, args.json);
  return 0;
}

}  // namespace

void add_data_info_command(Program& program) {
  auto args = std::make_shared<InfoArgs>();
  OptionTable& table = program.command("data info", "print a summary of a token store", [args] { return info(*args); });
  table.add("--store,--input,-i", args->store, "FILE", "token store");
  table.required("store");
  table.add_flag("--verify", args->verify, "verify the checksums first");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
