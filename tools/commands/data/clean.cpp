// gyre data clean: filters a parallel corpus, lines, or the documents of a language model.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "gyre/core/clock.h"
#include "gyre/core/enum_names.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/text/cleaning/clean_corpus.h"
#include "gyre/data/text/document_options.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "tools/command_line/messages.h"
#include "tools/commands/text_progress.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

// The handling of lines without a translation.
enum class UnpairedLines : uint8_t { error, drop };

template <>
inline constexpr std::pair<UnpairedLines, std::string_view> kEnumNames<UnpairedLines>[] = {
    {UnpairedLines::error, "error"}, {UnpairedLines::drop, "drop"}};

namespace {

struct CleanArgs {
  CleaningFiles files;
  CleaningOptions options;
  UnpairedLines unpaired = UnpairedLines::error;
  std::string documents = "none", text_field = "text";
  Path vocabulary;
  TokenizerChoice tokenizer;
  CpuThreads threads;
  bool json = false;
  const OptionTable* table = nullptr;

  const char* unit(const CleaningSummary& summary) const {
    return summary.has_documents ? "document" : files.sides() == 2 ? "pair" : "line";
  }
};

void print_row(const std::string& name, uint64_t count, uint64_t all) {
  std::fprintf(stderr, "%-16s %12llu %7.3f %%\n", name.c_str(), static_cast<unsigned long long>(count),
               all == 0 ? 0 : 100 * double(count) / double(all));
}

void print_table(const CleaningSummary& summary, const CleanArgs& args, double seconds) {
  const std::string unit = args.unit(summary);
  for (const LineReport& report : summary.reports) print_message(report.describe());
  for (const CleaningSummary::Input& input : summary.inputs) {
    const std::string target = input.target.empty() ? "" : " + " + input.target.string();
    print_message(concat(input.source.string(), target, ": ", counted(input.pairs, unit)));
  }
  std::fprintf(stderr, "\n");
  print_row("read", summary.rows(), summary.rows());
  for (const auto& [reason, name] : kEnumNames<DropReason>) {
    const uint64_t count = summary.dropped[size_t(reason)];
    if (count > 0) print_row(std::string(name), count, summary.rows());
  }
  if (args.options.holdout_every > 0) print_row("held out", summary.held_out, summary.rows());
  if (summary.boundaries > 0) print_row("document ends", summary.boundaries, summary.rows());
  print_row("kept", summary.kept, summary.rows());
  for (size_t file = 0; file < summary.excluded.size(); ++file) {
    print_message(concat("excluded because of ", args.options.excluded[file].string(), ": ",
                         counted(summary.excluded[file], unit)));
  }
  std::fprintf(stderr, "\n");
  print_text_rate(summary.bytes, seconds);
}

Json to_json(const CleaningSummary& summary, const CleanArgs& args, double seconds) {
  Json inputs = Json::array(), dropped = Json::object(), excluded = Json::array();
  for (const CleaningSummary::Input& input : summary.inputs) {
    Json& entry = inputs.emplace_back(Json{{"source", input.source.string()}});
    if (!input.target.empty()) entry["target"] = input.target.string();
    entry["pairs"] = input.pairs;
  }
  for (const auto& [reason, name] : kEnumNames<DropReason>)
    dropped[std::string(name)] = summary.dropped[size_t(reason)];
  for (size_t file = 0; file < summary.excluded.size(); ++file)
    excluded.push_back({{"file", args.options.excluded[file].string()}, {"pairs", summary.excluded[file]}});
  return {{"unit", args.unit(summary)},
          {"inputs", inputs},
          {"pairs", summary.pairs},
          {"kept", summary.kept},
          {"held_out", summary.held_out},
          {"document_ends", summary.boundaries},
          {"dropped", dropped},
          {"excluded_by", excluded},
          {"bytes", summary.bytes},
          {"seconds", seconds},
          {"megabytes_per_minute", double(summary.bytes) * 1e-6 / seconds * 60}};
}

// The outputs replace their files together at the end, which a stream cannot.
void reject_standard_streams(const CleaningFiles& files) {
  for (const auto* inputs : {&files.sources, &files.targets}) {
    for (const Path& path : *inputs) expect(path != "-", "--source, --target", "files", "-");
  }
  for (const Path* output :
       {&files.output_source, &files.output_target, &files.report, &files.holdout_source, &files.holdout_target})
    expect(*output != "-", "--output-source and other outputs", "files", "-");
}

// Sets how documents and lengths are read.
void set_documents(CleanArgs& args) {
  CleaningOptions& options = args.options;
  DocumentFormat format;
  format.text_field = args.text_field;
  if (args.documents != "none") format.end = parse_document_end(args.documents);
  if (args.documents != "none" || args.table->given("text-field")) options.documents = format;
  if (args.vocabulary.empty()) return;
  const std::shared_ptr<const Vocabulary> vocabulary = load_vocabulary(args.vocabulary, args.tokenizer);
  options.length_of = [vocabulary, line_ends = default_line_ends(*vocabulary)](std::string_view text) {
    return encode_document(*vocabulary, text, line_ends).size();
  };
}

int clean(CleanArgs& args) {
  reject_standard_streams(args.files);
  args.threads.use();
  args.options.drop_unpaired = args.unpaired == UnpairedLines::drop;
  for (std::vector<Path>* paths : {&args.files.sources, &args.files.targets, &args.options.excluded})
    *paths = expand_paths(*paths);
  set_documents(args);
  const Stopwatch clock;
  const CleaningSummary summary = clean_corpus(args.files, args.options);
  const double seconds = clock.seconds();
  print_table(summary, args, seconds);
  if (args.json) print_summary(to_json(summary, args, seconds), true);
  return 0;
}

void add_files(OptionTable& table, CleaningFiles& files) {
  table.group("Files");
  table.add("--source,-s", files.sources, "FILE",
            "text, one sentence per line, or documents as text or JSON lines; several files are one corpus");
  table.add("--target,-t", files.targets, "FILE",
            "translations, line by line, as many files as --source; default: a corpus with one side");
  table.add("--output-source", files.output_source, "FILE", "cleaned source to write");
  table.add("--output-target", files.output_target, "FILE", "cleaned target to write");
  table.add("--report", files.report, "FILE",
            "table to write of the dropped pairs: number, file, line, reason and detail, separated by tabs");
  for (const char* name : {"source", "output-source"}) table.required(name);
}

void add_documents(OptionTable& table, CleanArgs& args) {
  table.group("Documents, of a corpus for language models; all filters apply to whole documents");
  table.add(
      documents_option(&args.documents,
                       "; none: lines are filtered, and those that end documents stay; every one of JSON lines is a "
                       "document",
                       {"none", "blank-line", "line"}));
  table.add(text_field_option(&args.text_field));
  table.add("--near-duplicates", args.options.near_duplicates.similarity, "SIMILARITY",
            "drop documents whose estimated Jaccard similarity to one that was kept before is at least this (0.8, for "
            "example); 0: keep them");
  table.add("--shingle-words", args.options.near_duplicates.shingle_words, "WORDS",
            "compare the runs of so many words of documents");
  table.add("--min-hashes", args.options.near_duplicates.hashes, "NUMBER", "hash functions of the estimate");
  table.add("--exclude-words", args.options.excluded_words, "WORDS",
            "with --exclude, drop documents that share a run of so many words with a document of the test sets");
}

void add_filters(OptionTable& table, CleanArgs& args) {
  CleaningOptions& options = args.options;
  table.group("Filters, in this order; a dropped pair is counted under the first that applies");
  table.add_enum("--unpaired", args.unpaired,
                 "handling of the last lines of a file that is longer than the other side");
  table.add("--max-bytes", options.max_bytes, "BYTES", "maximum bytes of a line; 0: no limit");
  table.add("--min-length", options.min_length, "WORDS", "minimum words of a line or document, or tokens with --vocab");
  table.add("--max-length", options.max_length, "WORDS", "maximum words, or tokens with --vocab; 0: no limit");
  table.add("--vocab,-v", args.vocabulary, "FILE", "vocabulary, to count lengths in tokens");
  table.add_options(args.tokenizer);
  table.add("--max-ratio", options.max_ratio, "NUMBER",
            "maximum ratio of the words of both sides, longer to shorter; 0: no limit");
  table.add("--max-characters", options.max_characters, "CHARACTERS", "maximum characters of a word; 0: no limit");
  table.add_flag("--same-text", options.drop_same_text, "drop pairs with the same text on both sides");
  table.add(
      "--exclude", options.excluded, "FILE",
      "test sets: drop pairs either side of which is one of their lines, up to case and white space; of documents, "
      "see --exclude-words");
  table.add_flag("--remove-duplicates", options.remove_duplicates, "drop pairs or documents that were kept before");
}

void add_text(OptionTable& table, CleanArgs& args) {
  table.group("Text");
  table.add_flag("--normalize-whitespace", args.options.normalize_whitespace,
                 "write one space for each run of white space, and none at the ends of a line");
  table.add_flag("--remove-pipes", args.options.remove_pipes,
                 "delete every | first, as clean-corpus-n.perl does in text without factors");
  table.group("Validation set");
  table.add("--holdout-every", args.options.holdout_every, "N",
            "hold out pairs N, 2 N, 3 N, ... of the input, without filtering them; 0: none");
  table.add("--holdout-source", args.files.holdout_source, "FILE", "held-out source to write");
  table.add("--holdout-target", args.files.holdout_target, "FILE", "held-out target to write");
}

}  // namespace

void add_data_clean_command(Program& program) {
  auto args = std::make_shared<CleanArgs>();
  OptionTable& table =
      program.command("data clean", "filter a corpus of pairs, lines or documents", [args] { return clean(*args); });
  args->table = &table;
  add_files(table, args->files);
  add_documents(table, *args);
  add_filters(table, *args);
  add_text(table, *args);
  table.group("Run");
  args->threads.add_row(table);
  table.add_flag("--json", args->json, "also print one JSON object to standard output");
}

}  // namespace gyre
