// gyre inspect receptive-field: how far back causal language models look, by position encoding.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/inspect/receptive_field_report.h"
#include "tools/program.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct InspectReceptiveField {
  std::vector<std::string> positions;
  std::vector<Path> models;
  ReceptiveFieldOptions options;
  Path output = "receptive-field.svg", data;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  OptionTable* table = nullptr;
};

void check(const InspectReceptiveField& call) {
  if (call.positions.empty() && call.models.empty())
    throw UsageError("--position, --model: expected encodings of fresh models or trained runs, got none");
  if (call.options.length < 0) throw UsageError("--length: expected a number from 0 up, got ", call.options.length);
  if (call.options.samples < 1) throw UsageError("--samples: expected at least 1, got ", call.options.samples);
  call.table->reject_idle("checkpoint", !call.models.empty(), "there is no --model");
  call.table->reject_idle("input", !call.models.empty(), "there is no --model: fresh ones have no vocabulary");
  if (call.positions.empty()) call.table->reject_group("Fresh models", "there is no --position");
}

// Four times the longest one of training, so that one sees what lies beyond it.
int usual_length(const InspectReceptiveField& call) {
  int longest = 0;
  for (const Path& model : call.models) longest = std::max(longest, trained_length(model, call.options.checkpoint));
  return longest > 0 ? 4 * longest : 1024;
}

std::vector<ReceptiveField> measure(const InspectReceptiveField& call) {
  ReceptiveFields work(call.options, call.device.kernels(), call.positions.size() + call.models.size());
  std::vector<ReceptiveField> fields;
  for (const std::string& position : call.positions) fields.push_back(work.fresh(position));
  for (const Path& run : call.models) fields.push_back(work.trained(run));
  return fields;
}

int inspect(InspectReceptiveField& call) {
  check(call);
  call.threads.use();
  if (call.options.length == 0) call.options.length = usual_length(call);
  const std::vector<ReceptiveField> fields = measure(call);
  if (!call.data.empty()) write_curves(fields, call.data);
  draw_receptive_fields(fields, call.output);
  if (call.json) {
    const nlohmann::ordered_json facts{
        {"length", call.options.length}, {"samples", call.options.samples}, {"models", receptive_fields_json(fields)}};
    std::cout << facts.dump() << '\n';
  } else {
    print_receptive_fields(fields);
  }
  return 0;
}

void add_position_row(OptionTable& table, InspectReceptiveField& call) {
  table.add_custom(
      "--position", 1, OptionTable::kAnyNumber, "WORD,...", "encodings of fresh models, a line each",
      [&call](const std::vector<std::string>& values) {
        call.positions.clear();
        for (const std::string& word : split_list(values))
          call.positions.push_back(OptionTable::chosen_word(word, position_encoding_names()));
      },
      [&call] { return toml_value(call.positions); });
}

}  // namespace

void add_inspect_receptive_field_command(Program& program) {
  auto call = std::make_shared<InspectReceptiveField>();
  OptionTable& table = program.command(
      "inspect receptive-field",
      "draw what share of the gradient of a prediction lies within so many tokens back, of causal language models. "
      "Random weights attend evenly, so a fresh model shows what its encoding alone does: a bias over distance (alibi) "
      "is a soft window, and all others are much like none; what rope or a table does is seen in trained models",
      [call] { return inspect(*call); });
  call->table = &table;
  add_position_row(table, *call);
  table.add("--model,-m", call->models, "PATH...", "runs of gyre train lm, a line each; the trained length is marked");
  table.add("--checkpoint", call->options.checkpoint, "NAME",
            "within a run: best, last, average or step-...; default best");
  table.add("--input,-i", call->options.inputs, "FILE...",
            "text that the runs read, or one token store; absent: ids drawn evenly from the vocabulary");
  table.add(
      "--length", call->options.length, "TOKENS",
      "of a text, or as many as a model has positions for; 0: four times the longest trained length, 1024 without");
  table.add("--samples", call->options.samples, "TEXTS",
            "whose mean is drawn, with weights of their own in fresh models");
  table.add("--seed", call->options.seed, "NUMBER", "of ids and fresh weights");
  table.add_picture("--output,--out,-o", call->output, "the picture");
  table.add("--data", call->data, "FILE", "the curves as JSON, too, by distance");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_flag("--json", call->json, "print one JSON object");
  table.group("Fresh models");
  table.add("--dim-emb", call->options.fresh.dim, "NUMBER", "width of the model");
  table.add("--layers", call->options.fresh.layers, "LAYERS", "of the stack");
  table.add("--transformer-heads", call->options.fresh.heads, "HEADS", "of every attention");
  table.add("--transformer-dim-ffn", call->options.fresh.ffn, "NUMBER", "width inside the feed-forward blocks");
}

}  // namespace gyre
