// gyre data build: converts text to a token store.
#include <memory>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/core/io/output_target.h"
#include "gyre/data/store/build_store.h"
#include "gyre/data/store/document_store.h"
#include "gyre/train/log/stopwatch.h"
#include "tools/messages.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/tokenizer_rows.h"
#include "tools/program.h"
#include "tools/text_rate.h"

namespace gyre {

namespace {

struct BuildArgs {
  Path vocabulary, target, output;
  std::vector<Path> sources;
  TokenizerChoice tokenizer;
  TextOptions text;
  std::string on_bad_line = "default", documents = "none";
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

void require_inputs_kept(const BuildArgs& args) {
  require_no_input(args.output, args.sources);
  require_no_input(args.output, {args.target, args.vocabulary, args.tokenizer.dictionary});
}

// Returns the size of the text in bytes.
uint64_t build_documents(const BuildArgs& args) {
  if (!args.target.empty()) throw UsageError("[data] --documents: expected no --target");
  require_inputs_kept(args);
  const auto report = build_document_store(*load_vocabulary(args.vocabulary, args.tokenizer), args.sources, args.output,
                                           parse_document_end(args.documents), args.text.on_bad_line);
  uint64_t bytes = 0;
  for (const LineReport& file : report.files) {
    print_message(file.describe());
    bytes += file.bytes;
  }
  print_message(counted(report.documents, "document"));
  return bytes;
}

uint64_t build_sentences(const BuildArgs& args) {
  if (args.sources.size() > 1) throw UsageError("[data] --source: expected one file without --documents, got several");
  std::vector<Path> files = args.sources;
  if (!args.target.empty()) files.push_back(args.target);
  require_inputs_kept(args);
  const auto report =
      build_token_store(*load_vocabulary(args.vocabulary, args.tokenizer), files, args.output, args.text);
  print_message(report.describe());
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
  print_text_rate(bytes, clock.seconds());
  return 0;
}

}  // namespace

void add_data_build_command(Program& program) {
  auto args = std::make_shared<BuildArgs>();
  OptionTable& table =
      program.command("data build", "convert text to a memory-mapped token store", [args] { return build(*args); });
  args->table = &table;
  table.add("--vocab,-v", args->vocabulary, "FILE", "vocabulary of both sides");
  add_tokenizer_rows(table, args->tokenizer);
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

}  // namespace gyre
