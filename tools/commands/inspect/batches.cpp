// gyre inspect batches: writes the batches of the first updates of a language model, so that another program can train
// on the same ones.
#include <iostream>
#include <memory>

#include "gyre/core/io/file.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/log/logger.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/language/language_batches.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "tools/options/model_options.h"
#include "tools/options/tasks/language_options.h"
#include "tools/options/tasks/pretrained_row.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct InspectBatchesArgs {
  MaskedOptions train;
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
  MaskedOptions& options = args.train;
  expect_at_least(uint64_t{1}, "--updates", args.updates);
  // Options that training requires and that do not determine the batches.
  options.stop.after = {args.updates, Period::Unit::updates};
  if (options.start.directory.empty()) options.start.directory = args.output.parent_path() / ".";
  if (!options.stages.empty())
    expect(args.updates <= run_stages(options).back().end(), "--updates",
           concat("at most the ", run_stages(options).back().end(), " updates of all stages"), args.updates);
  check_pretrained_model(options, args.model.config);
  const bool causal = is_causal(args);
  if (args.table->given_as("model") && !args.table->resumes_run())
    throw UsageError("--model would have no effect beside other options: --config ",
                     (options.start.directory / "train.toml").string(), " has those of the run");
  args.table->reject_unused("causal", !args.table->resumes_run(), "--model says which kind of model it is");
  check_language_options(*args.table, options);
  if (causal) args.table->reject_group("Masking", "a causal model predicts the next token");
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
