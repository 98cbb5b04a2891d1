// gyre data check: says before a run what is wrong with its data and options.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/checking/check_data.h"
#include "gyre/data/checking/check_documents.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/document_options.h"
#include "gyre/data/text/utf8.h"
#include "gyre/models/config/config.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "tools/command_line/messages.h"
#include "tools/command_line/option_table.h"
#include "tools/options/model_options.h"
#include "tools/options/train_options.h"
#include "tools/program.h"
#include "tools/summary.h"
#include "tools/workload/gpu_plan.h"
#include "tools/workload/training_load.h"

namespace gyre {
namespace {

// Memory and time of a training run, for gyre data check.
struct RunCost {
  std::string where;  // "predicted for 8 x h200", "predicted for 1 rank of 2 threads of this machine"
  int ranks = 1;
  double memory_bytes = 0;  // memory of each rank
  double update_seconds = 0, epoch_seconds = 0;
  double run_seconds = 0;  // 0: --after does not give the updates
  std::vector<Finding> findings;
};

constexpr double kMega = 1e6;

std::string gigabytes(double bytes) {
  char text[32];
  const bool is_small = bytes < 0.1 * kGiga;
  std::snprintf(text, sizeof text, is_small ? "%.1f MB" : "%.2f GB", bytes / (is_small ? kMega : kGiga));
  return text;
}

std::string duration(double seconds) {
  char text[32];
  if (seconds < 60) {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  } else if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%.3g minutes", seconds / 60);
  } else {
    std::snprintf(text, sizeof text, "%.4g hours", seconds / 3600);
  }
  return text;
}

double machine_memory() { return double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE)); }

Finding gpu_memory(const GpuPlanRow& row, const GpuModel& model, const ParallelOptions& options) {
  return {row.fits() ? Severity::ok : Severity::error,
          "memory",
          concat(gigabytes(row.plan.memory()), " of the ", gigabytes(model.memory), " of an ", model.name,
                 "; fits: ", fitting_text(row, options)),
          {}};
}

Finding cpu_memory(const PlanRow& row) {
  const double limit = machine_memory();
  return {row.memory() <= limit ? Severity::ok : Severity::error,
          "memory",
          concat(gigabytes(row.memory()), " per rank; this machine has ", gigabytes(limit)),
          {}};
}

// Plans the run as gyre plan does, with the sentence length and the updates of `epoch`.
RunCost run_cost(const NmtOptions& options, const EncoderDecoderConfig& config, const Epoch& epoch, int ranks) {
  const GpuModel* const gpu = planned_gpu(options.device.name);
  const int length = std::max(2, int(std::lround(epoch.sentence_length)));
  const auto make = [&](int items, Device device) {
    return translation_workload(config, items, length, {device}, options.r_drop);
  };
  RunCost cost;
  cost.ranks = ranks;
  PlanRow row;
  if (gpu) {
    const GpuJob job = gpu_job(make, options, 2.0 * length, 2, Scaling::strong);
    const GpuPlanRow planned = plan_gpus(job, *gpu, {ranks}).front();
    row = planned.plan;
    cost.where = concat("predicted for ", ranks, " x ", gpu->name);
    cost.findings.push_back(gpu_memory(planned, *gpu, options.parallel));
  } else {
    const MachineLoad machine = machine_load(make, options, 2.0 * length, 2, PlanRates());
    row = plan_step(machine.load, machine.rates, ranks, Scaling::strong);
    cost.where = concat("predicted for ", counted(uint64_t(ranks), "rank"), " of ",
                        counted(uint64_t(threads()), "thread"), " of this machine");
    if (parse_device(options.device.name, 0) == Device{}) cost.findings.push_back(cpu_memory(row));
  }
  cost.memory_bytes = row.memory();
  cost.update_seconds = row.step();
  cost.epoch_seconds = row.step() * double(epoch.updates);
  cost.run_seconds = row.step() * double(options.stop.after.in_updates(epoch.updates));
  std::string text = concat(duration(cost.update_seconds), " per update and ", duration(cost.epoch_seconds),
                            " per epoch, ", cost.where);
  if (cost.run_seconds > 0)
    text += concat("; ", duration(cost.run_seconds), " for --after ", to_string(options.stop.after));
  cost.findings.push_back({Severity::ok, "time", std::move(text), {}});
  return cost;
}

// Prints the results of gyre data check, as text or JSON.
inline constexpr std::array<double, 5> kPercentiles{0.5, 0.9, 0.95, 0.99, 1};

inline constexpr std::array<const char*, 5> kPercentileNames{"median", "p90", "p95", "p99", "longest"};

void print_counts(const std::vector<Finding>& findings);  // the numbers of errors and warnings

// cost: null if it was not planned.
Json to_json(const DataCheck& check, const RunCost* cost);

constexpr std::array<const char*, 2> kSideNames{"source", "target"};

constexpr int kBarWidth = 30;

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

// Numbers of measured sentences by length: entry i counts lengths from 2^i to 2^(i + 1) - 1.
std::vector<uint64_t> histogram(const SetStatistics& set, size_t side) {
  std::vector<uint64_t> counts;
  for (const auto& lengths : set.lengths) {
    const auto at = size_t(std::bit_width(lengths[side])) - 1;
    if (counts.size() <= at) counts.resize(at + 1);
    ++counts[at];
  }
  return counts;
}

void print_lengths(const SetStatistics& set) {
  for (size_t side = 0; side < 2; ++side) {
    std::printf("%-16s %-8s", set.name.c_str(), kSideNames[side]);
    for (const double share : kPercentiles)
      std::printf(" %8llu", static_cast<unsigned long long>(length_percentile(set, int(side), share)));
    std::printf("\n");
  }
}

void print_histogram(const SetStatistics& set) {
  const std::array<std::vector<uint64_t>, 2> counts{histogram(set, 0), histogram(set, 1)};
  const size_t rows = std::max(counts[0].size(), counts[1].size());
  std::printf("\nTokens of the sentences of the %s\n%17s %12s %12s\n", set.name.c_str(), "tokens", "source", "target");
  for (size_t row = 0; row < rows; ++row) {
    std::array<uint64_t, 2> of{};
    for (size_t side = 0; side < 2; ++side) of[side] = row < counts[side].size() ? counts[side][row] : 0;
    const auto bar = size_t(double(kBarWidth) * double(of[0] + of[1]) / (2 * double(set.measured())) + 0.5);
    std::printf("%7llu to %6llu %12llu %12llu  %s\n", 1ULL << row, (2ULL << row) - 1,
                static_cast<unsigned long long>(of[0]), static_cast<unsigned long long>(of[1]),
                std::string(bar, '#').c_str());
  }
}

Json to_json(const LineList& list) { return {{"count", list.count}, {"first_lines", list.first}}; }

Json to_json(const SetStatistics& set, size_t side) {
  const SideStatistics& statistics = set.sides[side];
  Json json{{"file", statistics.path.string()}, {"lines", statistics.lines}};
  if (!set.is_store) {
    Json& encoding = json["encoding"] = Json::object();
    for (size_t fault = 0; fault < kLineFaults; ++fault)
      encoding[std::string(enum_name(LineFault(fault)))] = to_json(statistics.faults[fault]);
    json["crlf_lines"] = statistics.crlf_lines;
    json["byte_order_mark"] = statistics.has_byte_order_mark;
  }
  json.update({{"pieces", statistics.pieces},
               {"unknown_pieces", statistics.unknown},
               {"histogram_of_lengths", histogram(set, side)}});
  for (size_t i = 0; i < kPercentiles.size(); ++i)
    json["lengths"][kPercentileNames[i]] = length_percentile(set, int(side), kPercentiles[i]);
  return json;
}

Json to_json(const SetStatistics& set) {
  return {{"set", set.name},
          {"pairs", set.pairs},
          {"measured_pairs", set.measured()},
          {"measured_every", set.every},
          {"unpaired", to_json(set.unpaired)},
          {"duplicates", to_json(set.duplicates)},
          {"copies", to_json(set.copies)},
          {"over_max_length", to_json(set.over_length)},
          {"ratio_outliers", to_json(set.ratio_outliers)},
          {"source", to_json(set, 0)},
          {"target", to_json(set, 1)}};
}

uint64_t count_findings(const std::vector<Finding>& findings, Severity severity) {
  return uint64_t(std::ranges::count(findings, severity, &Finding::severity));
}

// One line for each finding, its examples below it, unless it is ok.
void print_findings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::cout << severity_name(finding.severity) << ": " << finding.topic << ": " << printable_line(finding.text)
              << '\n';
    if (finding.severity == Severity::ok) continue;
    for (const std::string& example : finding.examples) std::cout << "    " << printable_line(example) << '\n';
  }
  std::cout << std::flush;
}

void print_counts(const std::vector<Finding>& findings) {
  std::printf("%s, %s\n", counted(count_findings(findings, Severity::error), "error").c_str(),
              counted(count_findings(findings, Severity::warning), "warning").c_str());
}

// An object with the numbers of errors and warnings and the findings.
Json findings_json(const std::vector<Finding>& findings) {
  Json json{{"errors", count_findings(findings, Severity::error)},
            {"warnings", count_findings(findings, Severity::warning)},
            {"findings", Json::array()}};
  for (const Finding& finding : findings)
    json["findings"].push_back({{"verdict", severity_name(finding.severity)},
                                {"topic", finding.topic},
                                {"text", finding.text},
                                {"examples", finding.examples}});
  return json;
}

Json to_json(const DataCheck& check, const RunCost* cost) {
  Json json = findings_json(check.findings);
  json["compared_by"] = check.keys == RowKeys::ids ? "ids" : "text";
  json["sets"] = json["overlaps"] = Json::array();
  for (const SetStatistics& set : check.sets) json["sets"].push_back(to_json(set));
  for (const Overlap& overlap : check.overlaps)
    json["overlaps"].push_back({{"held_out", check.sets[overlap.held_out].name},
                                {"other", check.sets[overlap.other].name},
                                {"pairs", overlap.pairs.count()},
                                {"source", overlap.source.count()},
                                {"target", overlap.target.count()}});
  json["epoch"] = {{"updates", check.epoch.updates},
                   {"estimated", check.epoch.is_estimate},
                   {"sentence_length", check.epoch.sentence_length}};
  if (cost != nullptr)
    json["cost"] = {{"where", cost->where},
                    {"ranks", cost->ranks},
                    {"memory_bytes", cost->memory_bytes},
                    {"update_seconds", cost->update_seconds},
                    {"epoch_seconds", cost->epoch_seconds},
                    {"run_seconds", cost->run_seconds}};
  return json;
}

// The findings, a table of lengths, and the numbers of warnings and errors.
void print_check(const DataCheck& check, uint64_t sample_lines) {
  print_findings(check.findings);
  std::printf("\n%-25s", "Tokens of a sentence");
  for (const char* name : kPercentileNames) std::printf(" %8s", name);
  std::printf("\n");
  for (const SetStatistics& set : check.sets) print_lengths(set);
  if (check.sets[0].measured() > 0) print_histogram(check.sets[0]);
  std::printf("\n");
  for (const SetStatistics& set : check.sets) {
    if (sample_lines > 0 && set.every > 1)
      std::printf("Pieces and lengths of the %s are of %llu of its %llu pairs (--sample-lines %llu).\n",
                  set.name.c_str(), static_cast<unsigned long long>(set.measured()),
                  static_cast<unsigned long long>(set.pairs), static_cast<unsigned long long>(sample_lines));
  }
  if (check.keys == RowKeys::ids) std::printf("Sentences are compared by their ids, because a set is a token store.\n");
  print_counts(check.findings);
}

// The part of `gyre data check` for documents, the data of a language model.
struct DocumentCheckArgs {
  std::string documents;  // empty: none were asked for
  std::string text_field = "text";
  double near_duplicates = 0.8;
  uint64_t overlap_words = 13;

  void add_rows(OptionTable& table);
  // Whether these sets are documents: the options say so, or the training set is JSON lines or one file of text. Does
  // not read from a pipe, whose bytes would be lost.
  bool are_documents(const OptionTable& table, const std::vector<Path>& train) const;
  // Prints the findings. Returns the exit status: 1 if there is an error.
  int check(const std::vector<Path>& train, const std::vector<Path>& valid, const std::vector<Path>& tests,
            const Vocabulary* vocabulary, bool json) const;
};

Json to_json(const DocumentSet& set, const DocumentCheck& check) {
  Json files = Json::array();
  for (const LineReport& file : set.files) files.push_back(file.files);
  Json json{{"set", set.name},
            {"files", files},
            {"documents", set.documents},
            {"bytes", set.bytes},
            {check.has_tokens ? "tokens" : "words", set.tokens}};
  if (check.has_tokens) json["unknown_pieces"] = set.unknown;
  json.update({{"duplicates", set.duplicates.count}, {"near_duplicates", set.near_duplicates.count}});
  for (size_t i = 0; i < kPercentiles.size(); ++i)
    json["lengths"][kPercentileNames[i]] = length_percentile(set, kPercentiles[i]);
  return json;
}

Json to_json(const DocumentCheck& check) {
  Json json = findings_json(check.findings);
  json["sets"] = json["overlaps"] = Json::array();
  for (const DocumentSet& set : check.sets) json["sets"].push_back(to_json(set, check));
  for (const DocumentOverlap& overlap : check.overlaps)
    json["overlaps"].push_back({{"held_out", check.sets[overlap.held_out].name},
                                {"other", check.sets[overlap.other].name},
                                {"documents", overlap.documents},
                                {"share_of_runs", overlap.share}});
  return json;
}

void print(const DocumentCheck& check) {
  print_findings(check.findings);
  std::printf("\n%-25s", check.has_tokens ? "Tokens of a document" : "Words of a document");
  for (const char* name : kPercentileNames) std::printf(" %10s", name);
  std::printf("\n");
  for (const DocumentSet& set : check.sets) {
    std::printf("%-25s", set.name.c_str());
    for (const double share : kPercentiles)
      std::printf(" %10llu", static_cast<unsigned long long>(length_percentile(set, share)));
    std::printf("\n");
  }
  std::printf("\n");
  print_counts(check.findings);
}

void DocumentCheckArgs::add_rows(OptionTable& table) {
  table.group("Documents, of a language model; one file of text or JSON lines in --train-sets");
  table.add(documents_option(&documents, "; default: blank-line; if it is given, the sets are documents in any case"));
  table.add(text_field_option(&text_field));
  table.add("--near-duplicates", near_duplicates, "SIMILARITY",
            "count documents whose estimated Jaccard similarity to an earlier one is at least this; 0: do not compare");
  table.add("--overlap-words", overlap_words, "WORDS",
            "length of the runs of words that held-out documents should not share with training");
}

bool DocumentCheckArgs::are_documents(const OptionTable& table, const std::vector<Path>& train) const {
  if (table.given("documents") || table.given("text-field")) return true;
  if (train.empty()) return false;
  const std::vector<Path> files = expand_paths(train);
  std::error_code error;  // a path that cannot be looked up is reported when it is opened
  const bool is_file = std::filesystem::is_regular_file(files[0], error);
  const TextKind kind = is_file ? TextInput(files[0]).kind() : TextKind::text;
  if (kind == TextKind::token_store) return TokenStore(files[0]).sides() == 1;
  return kind == TextKind::json_lines || files.size() != 2;
}

int DocumentCheckArgs::check(const std::vector<Path>& train, const std::vector<Path>& valid,
                             const std::vector<Path>& tests, const Vocabulary* vocabulary, bool json) const {
  DocumentCheckOptions options;
  options.train = train;
  options.valid = valid;
  options.tests = tests;
  options.format.text_field = text_field;
  if (!documents.empty()) options.format.end = parse_document_end(documents);
  options.near_duplicates.similarity = near_duplicates;
  options.near_duplicates.validate();
  expect_between<uint64_t>(2, 1000, "--overlap-words", overlap_words);
  options.overlap_words = overlap_words;
  const DocumentCheck result = check_documents(options, vocabulary);
  if (json) {
    print_summary(to_json(result), true);
  } else {
    print(result);
  }
  return count_findings(result.findings, Severity::error) == 0 ? 0 : 1;
}

constexpr int kMostRanks = 1'000'000;

struct CheckArgs {
  NmtOptions train;
  ModelArgs model;
  std::vector<Path> tests;
  uint64_t sample_lines = 0;
  int ranks = 1;
  bool plan = true, json = false;
  DocumentCheckArgs documents;
  const OptionTable* table = nullptr;
};

void expect_set(const std::string& flag, const std::vector<Path>& files) {
  if (files.size() > 2)
    throw UsageError(flag, ": expected a source and a target file, or one token store, got ", files.size(), " files");
  if (files.size() == 1 && !TokenStore::recognizes(files[0]))
    throw UsageError(flag, ": expected a source and a target file, or one token store, got ", files[0].string());
}

// Test sets are source and target files in turn, or token stores.
std::vector<std::vector<Path>> tests_of(const std::vector<Path>& files) {
  std::vector<std::vector<Path>> tests;
  for (size_t i = 0; i < files.size(); i += tests.back().size()) {
    tests.push_back({files[i]});
    if (TokenStore::recognizes(files[i])) continue;
    if (i + 1 == files.size())
      throw UsageError("--test-sets: expected source and target files in turn; ", files[i].string(), " has no target");
    tests.back().push_back(files[i + 1]);
  }
  return tests;
}

// Returns the test sets.
std::vector<std::vector<Path>> validate(CheckArgs& args) {
  expect_set("--train-sets", args.train.data.train_sets);
  if (!args.train.data.valid_sets.empty()) expect_set("--valid-sets", args.train.data.valid_sets);
  expect_at_least(2, "--max-length", args.train.data.max_length);
  expect_between(1, kMostRanks, "--ranks", args.ranks);
  std::vector<std::vector<Path>> tests = tests_of(args.tests);
  const bool has_store = args.train.data.train_sets.size() == 1 || args.train.data.valid_sets.size() == 1 ||
                         std::any_of(tests.begin(), tests.end(), [](const auto& files) { return files.size() == 1; });
  args.table->reject_unused("sample-lines", !has_store, "a token store is measured whole");
  args.table->reject_unused("ranks", args.plan, "--no-plan leaves out the plan");
  check_nmt_options(*args.table, args.train, args.model.config);
  NmtOptions options = args.train;
  if (planned_gpu(options.device.name) != nullptr) options.device.name = "cuda";
  options.validate_update();
  options.validate_task();
  return tests;
}

int check_language_data(const CheckArgs& args) {
  const OptionTable& table = *args.table;
  std::vector<std::string> read{"train-sets", "valid-sets",  "test-sets", "vocab", "tokenizer",
                                "dictionary", "cpu-threads", "json",      "config"};
  for (const char* name : {"documents", "text-field", "near-duplicates", "overlap-words"}) read.emplace_back(name);
  for (const OptionDescription& option : table.describe()) {
    const std::string name = option.name().substr(option.name().find_first_not_of('-'));
    if (table.has(name) && std::ranges::count(read, name) == 0)
      table.reject_unused(name, false, "the sets are documents");
  }
  if (args.train.device.threads > 0) set_threads(args.train.device.threads);
  std::shared_ptr<const Vocabulary> vocabulary;
  if (!args.train.data.vocabulary.empty())
    vocabulary = load_vocabulary(args.train.data.vocabulary, args.train.data.target_vocabulary, args.train.tokenizer);
  return args.documents.check(args.train.data.train_sets, args.train.data.valid_sets, args.tests, vocabulary.get(),
                              args.json);
}

int check(CheckArgs& args) {
  if (args.documents.are_documents(*args.table, args.train.data.train_sets)) return check_language_data(args);
  if (args.train.data.vocabulary.empty())
    throw UsageError("--vocab is missing: only documents can be checked without a vocabulary");
  use_pretrained_vocabulary(args.train.pretrained_model, args.train);
  std::vector<std::vector<Path>> tests = validate(args);
  for (const std::string& note : args.table->notes()) print_message(note);
  if (args.train.device.threads > 0) set_threads(args.train.device.threads);
  const auto vocabulary =
      load_vocabulary(args.train.data.vocabulary, args.train.data.target_vocabulary, args.train.tokenizer);
  set_vocabulary_sizes(args.model.config, *vocabulary);
  validate_model(*args.table, [&] { args.model.config.validate(); });
  const NmtOptions& train = args.train;
  make_bpe_dropouts(train, *vocabulary);  // throws if the vocabulary has none
  require_positions(train.data.max_length, EncoderDecoder(args.model.config).longest());
  const DataCheckOptions options{.train = train.data.train_sets,
                                 .valid = train.data.valid_sets,
                                 .tests = std::move(tests),
                                 .batch = {.budget = {train.batch.unit, train.batch.size},
                                           .maxi_batch = train.batch.maxi_batch,
                                           .shuffle = train.batch.shuffle == Shuffle::data,
                                           .max_length = train.data.max_length},
                                 .sample_lines = args.sample_lines};
  DataCheck result = check_data(options, *vocabulary);
  std::unique_ptr<RunCost> cost;
  if (args.plan && result.epoch.updates > 0) {
    cost = std::make_unique<RunCost>(run_cost(train, args.model.config, result.epoch, args.ranks));
    result.findings.insert(result.findings.end(), cost->findings.begin(), cost->findings.end());
  }
  if (args.json) {
    print_summary(to_json(result, cost.get()), true);
  } else {
    print_check(result, args.sample_lines);
  }
  return count_findings(result.findings, Severity::error) == 0 ? 0 : 1;
}

}  // namespace

void add_data_check_command(Program& program) {
  auto args = std::make_shared<CheckArgs>();
  OptionTable& table =
      program.command("data check", "check the data of a run before it starts", [args] { return check(*args); });
  args->table = &table;
  table.accept_config_files();
  add_model_options(table, args->model);
  add_nmt_options(table, args->train, args->model.config);
  table.required("model", false);
  table.required("vocab", false);
  table.group("Check");
  table.add("--test-sets", args->tests, "SOURCE TARGET",
            "test data, which training must not contain: source and target files in turn, or token stores; of "
            "documents, each file is a set");
  table.add("--sample-lines", args->sample_lines, "PAIRS",
            "measure pieces and lengths on about this many pairs of each set, evenly spread; 0: all");
  table.add("--ranks,--gpus", args->ranks, "NUMBER", "number of ranks to plan memory and time for");
  table.add_flag("--plan,!--no-plan", args->plan, "estimate memory and time, as gyre plan does");
  table.add_flag("--json", args->json, "print one JSON object");
  args->documents.add_rows(table);
  table.set_common(split_list(
      {"config,train-sets,valid-sets,test-sets,vocab,max-length,mini-batch-words,sample-lines,task,device,precision",
       "cpu-threads,ranks,plan,json,documents,text-field,near-duplicates,overlap-words"}));
}

}  // namespace gyre
