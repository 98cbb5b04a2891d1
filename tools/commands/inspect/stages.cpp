// gyre inspect stages and gyre inspect batches: what each stage of a run reached, and the batches of its first updates.
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/log/console.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "tools/options/model_options.h"
#include "tools/options/train_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

struct InspectStagesArgs {
  Path model;
  bool json = false;
};

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const StageRow& row) {
  return {{"stage", row.stage},
          {"begin", row.begin},
          {"updates", row.updates},
          {"of_updates", row.of_updates},
          {"max_length", row.max_length},
          {"batch", row.batch},
          {"batch_unit", row.batch_unit},
          {"tokens", row.tokens},
          {"loss", json_of(row.loss)},
          {"accuracy", json_of(row.accuracy)},
          {"valid_loss", json_of(row.valid_loss)},
          {"valid_accuracy", json_of(row.valid_accuracy)}};
}

std::string text_of(const std::optional<double>& value, double scale, const char* format) {
  if (!value) return "-";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, scale * *value);
  return buffer;
}

// A Markdown table.
void print_rows(const std::vector<StageRow>& rows) {
  std::puts("| stage | length | batch | updates | tokens | loss | accuracy | valid loss | valid accuracy |");
  std::puts("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
  for (const StageRow& row : rows) {
    const std::string unit = row.batch_unit == "sentences" ? "samples" : "tokens";
    const std::string updates =
        row.updates == row.of_updates ? std::to_string(row.updates) : concat(row.updates, " of ", row.of_updates);
    std::printf("| %d | %d | %s | %s | %.3g M | %s | %s | %s | %s |\n", int(row.stage), row.max_length,
                concat(row.batch, " ", unit).c_str(), updates.c_str(), double(row.tokens) / 1e6,
                text_of(row.loss, 1, "%.3f").c_str(), text_of(row.accuracy, 100, "%.1f %%").c_str(),
                text_of(row.valid_loss, 1, "%.3f").c_str(), text_of(row.valid_accuracy, 100, "%.1f %%").c_str());
  }
}

int inspect(const InspectStagesArgs& args) {
  const Path metrics = args.model / "metrics.jsonl";
  const std::vector<StageRow> rows = stage_rows(read_metrics(metrics));
  require(!rows.empty(), "[stages] ", metrics.string(),
          ": expected a run with stages ([[stage]] in its configuration), found none");
  if (!args.json) {
    print_rows(rows);
    return 0;
  }
  Json summary{{"stages", Json::array()}};
  for (const StageRow& row : rows) summary["stages"].push_back(to_json(row));
  print_summary(summary, true);
  return 0;
}

}  // namespace

void add_inspect_stages_command(Program& program) {
  auto args = std::make_shared<InspectStagesArgs>();
  OptionTable& table =
      program.command("inspect stages", "print the loss and the accuracy that each stage of a pretraining run reached",
                      [args] { return inspect(*args); });
  table.add("--model,-m", args->model, "DIRECTORY", "run directory of gyre train mlm or lm with [[stage]] tables");
  table.required("model");
  table.add_flag("--json", args->json, "print one JSON object");
}

// ---- gyre inspect batches ------------------------------------------------------------------------------------------
// gyre inspect batches: writes the batches of the first updates of a language model, so that another program can train
// on the same ones.

namespace {

// The options of both kinds of models.
struct InspectedOptions : MaskedOptions {
  void declare(OptionList& list) override {
    MaskedOptions::declare(list);
    declare_format(list);
  }
};

struct InspectBatchesArgs {
  InspectedOptions train;
  EncoderArgs model{"roformer-mini"};  // accepted, because recipes contain its options
  bool causal = false;
  uint64_t updates = 100;
  Path output = "batches.safetensors";
  OptionTable* table = nullptr;
};

// A run that exists has the kind of its model in config.json.
bool is_causal(const InspectBatchesArgs& args) {
  if (!args.table->resumes_run()) return args.causal;
  return read_config<EncoderOnlyConfig>(args.train.start.directory).causal;
}

int inspect(InspectBatchesArgs& args) {
  InspectedOptions& options = args.train;
  expect_at_least(uint64_t{1}, "--updates", args.updates);
  // Options that training requires and that do not determine the batches.
  options.stop.after = {args.updates, Period::Unit::updates};
  if (options.start.directory.empty()) options.start.directory = args.output.parent_path() / ".";
  if (!options.stages.empty())
    expect(args.updates <= run_stages(options).back().end(), "--updates",
           concat("at most the ", run_stages(options).back().end(), " updates of all stages"), args.updates);
  use_pretrained_vocabulary(options.pretrained_model, options);
  const bool causal = is_causal(args);
  if (args.table->given_as("model") && !args.table->resumes_run())
    throw UsageError("--model would have no effect beside other options: --config ",
                     (options.start.directory / "train.toml").string(), " has those of the run");
  args.table->reject_unused("causal", !args.table->resumes_run(), "--model says which kind of model it is");
  if (causal && !args.table->given("optimizer")) options.optimizer.kind = causal_optimizer().kind;
  check_language_options(*args.table, options);
  if (causal) args.table->reject_group("Masking", "a causal model predicts the next token");
  args.table->reject_unused("format", causal, "a masked model predicts tokens of documents");
  std::vector<Path> inputs = options.data.train_sets;
  inputs.push_back(options.data.vocabulary);
  require_no_input(args.output, inputs);
  require_file_output(args.output, "batches");
  set_up_logging({.file = {}, .rank = 0, .ranks = 1, .quiet = options.log.quiet});
  std::cout << (causal ? write_causal_batches(LanguageOptions(options), args.updates, args.output)
                       : write_masked_batches(options, args.updates, args.output))
            << '\n';
  return 0;
}

}  // namespace

void add_inspect_batches_command(Program& program) {
  auto args = std::make_shared<InspectBatchesArgs>();
  OptionTable& table = program.command(
      "inspect batches", "write the batches that gyre train mlm or lm trains on with these options; trains nothing",
      [args] { return inspect(*args); });
  args->table = &table;
  table.accept_config_files();
  table.resume_from("train.toml");
  table.group("Batches to write");
  table.add("--updates", args->updates, "UPDATES", "write the batches of this many updates, from the first on");
  table.add("--output", args->output, "FILE",
            "safetensors file to write, with tensors of i32 per update: update-00000001.ids, .offsets of the samples, "
            ".rows to predict, .targets");
  table.add_flag("--causal", args->causal, "the batches of gyre train lm: predict the next token in every row");
  add_encoder_options(table, args->model, "--preset,--task,--arch", EncoderOnlyConfig::preset_names());
  add_language_options(table, args->train, args->model.config);
  table.required("model", false);
  table.describe_again("model", "write the batches of the run in this directory, by its own options");
  table.set_common({"config", "updates", "output", "causal", "model", "train-sets", "vocab", "documents", "max-length",
                    "mini-batch-words", "batch-unit", "mini-batch", "mask-share", "valid-share", "seed"});
}

}  // namespace gyre
