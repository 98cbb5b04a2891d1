// gyre inspect receptive-field: plots the receptive field of causal language models, by position encoding: the share of
// the gradient of a prediction that lies within the last tokens, over their number. Random weights attend evenly, so an
// untrained model shows the effect of its encoding alone: a bias over distance (alibi) is a soft window, and all others
// are similar to none. The effect of rope or of a table shows only in trained models.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/inspect/receptive_field_report.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/model_choice.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct InspectReceptiveFieldArgs {
  std::vector<std::string> positions;
  std::vector<Path> models;
  ReceptiveFieldOptions options;
  Path output = "receptive-field.svg", data;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  OptionTable* table = nullptr;
};

void check(const InspectReceptiveFieldArgs& args) {
  if (args.positions.empty() && args.models.empty())
    throw UsageError("--position, --model: expected encodings of untrained models or trained runs, got none");
  expect_at_least(0, "--length", args.options.length);
  expect_at_least(1, "--samples", args.options.samples);
  args.table->reject_unused("checkpoint", !args.models.empty(), "there is no --model");
  args.table->reject_unused("input", !args.models.empty(),
                            "there is no --model, and untrained models have no vocabulary");
  if (args.options.inputs.empty()) args.options.bos.reject("there is no --input");
  if (args.positions.empty()) args.table->reject_group("Untrained models", "there is no --position");
}

// The default length is four times the longest training length, to show the range beyond it.
int usual_length(const InspectReceptiveFieldArgs& args) {
  int longest = 0;
  for (const Path& model : args.models) longest = std::max(longest, trained_length(model, args.options.checkpoint));
  return longest > 0 ? 4 * longest : 1024;
}

std::vector<ReceptiveField> measure(const InspectReceptiveFieldArgs& args) {
  ReceptiveFields work(args.options, args.device.kernels(), args.positions.size() + args.models.size());
  std::vector<ReceptiveField> fields;
  for (const std::string& position : args.positions) fields.push_back(work.untrained(position));
  for (const Path& run : args.models) fields.push_back(work.trained(run));
  return fields;
}

int inspect(InspectReceptiveFieldArgs& args) {
  check(args);
  args.threads.use();
  if (args.options.length == 0) args.options.length = usual_length(args);
  const std::vector<ReceptiveField> fields = measure(args);
  if (!args.data.empty()) write_curves(fields, args.data);
  draw_receptive_fields(fields, args.output);
  if (args.json) {
    const Json summary{
        {"length", args.options.length}, {"samples", args.options.samples}, {"models", receptive_fields_json(fields)}};
    print_summary(summary, true);
  } else {
    print_receptive_fields(fields);
  }
  return 0;
}

void add_position_row(OptionTable& table, InspectReceptiveFieldArgs& args) {
  table.add_custom(
      "--position", 1, OptionTable::kAnyNumber, "WORD,...", "encodings of untrained models, one curve each",
      [&args](const std::vector<std::string>& values) {
        args.positions.clear();
        for (const std::string& word : split_list(values))
          args.positions.push_back(OptionTable::chosen_word(word, position_encoding_names()));
      },
      [&args] { return toml_value(args.positions); });
}

}  // namespace

void add_inspect_receptive_field_command(Program& program) {
  auto args = std::make_shared<InspectReceptiveFieldArgs>();
  OptionTable& table = program.command("inspect receptive-field", "plot the receptive field of causal language models",
                                       [args] { return inspect(*args); });
  args->table = &table;
  add_position_row(table, *args);
  table.add("--model,-m", args->models, "PATH...",
            "runs of gyre train lm, one curve each; the training length is marked");
  add_checkpoint_row(table, args->options.checkpoint);
  table.add("--input,-i", args->options.inputs, "FILE...",
            "text for the runs, or one token store; default: ids drawn uniformly from the vocabulary");
  args->options.bos.add_row(table);
  table.add(
      "--length", args->options.length, "TOKENS",
      "length of the texts, limited by the positions of a model; 0: four times the longest training length, or 1024");
  table.add("--samples", args->options.samples, "TEXTS",
            "number of texts to average over, with new weights for each in untrained models");
  table.add("--seed", args->options.seed, "NUMBER", "random seed of ids and untrained weights");
  table.add_picture("--output,--out,-o", args->output, "output picture");
  table.add("--data", args->data, "FILE", "also write the curves by distance as JSON");
  args->device.add_row(table);
  args->threads.add_row(table);
  table.add_flag("--json", args->json, "print one JSON object");
  table.group("Untrained models");
  table.add("--dim-emb", args->options.untrained.dim, "NUMBER", "width of the model");
  table.add("--layers", args->options.untrained.layers, "LAYERS", "number of layers");
  table.add("--transformer-heads", args->options.untrained.heads, "HEADS", "number of attention heads");
  table.add("--transformer-dim-ffn", args->options.untrained.ffn, "NUMBER", "inner width of the feed-forward blocks");
}

}  // namespace gyre
