#include "tools/page/run/run_samples.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace gyre {
namespace {

using nlohmann::ordered_json;

bool is_sample(const ordered_json& json) {
  const auto has_text = [&](const char* name) { return json.contains(name) && json[name].is_string(); };
  return json.is_object() && has_text("source") && has_text("reference") && has_text("output");
}

// The history of the same source and reference, which is added if there is none.
ordered_json& history_of(ordered_json& histories, const ordered_json& sample) {
  for (ordered_json& history : histories) {
    if (history["source"] == sample["source"] && history["reference"] == sample["reference"]) return history;
  }
  histories.push_back(
      {{"source", sample["source"]}, {"reference", sample["reference"]}, {"outputs", ordered_json::array()}});
  return histories.back();
}

void add_output(ordered_json& outputs, const ordered_json& updates, const ordered_json& text) {
  if (!outputs.empty() && outputs.back()["text"] == text) {
    outputs.back()["last"] = updates;
  } else {
    outputs.push_back({{"first", updates}, {"last", updates}, {"text", text}});
  }
}

// Keeps the first output and evenly spaced ones, with the last.
void thin(ordered_json& outputs) {
  if (outputs.size() <= kMaxPageOutputs) return;
  ordered_json kept = ordered_json::array();
  for (size_t i = 0; i < kMaxPageOutputs; ++i)
    kept.push_back(outputs[i * (outputs.size() - 1) / (kMaxPageOutputs - 1)]);
  outputs = std::move(kept);
}

}  // namespace

ordered_json sample_histories(const std::vector<ordered_json>& entries) {
  ordered_json histories = ordered_json::array();
  for (const ordered_json& entry : entries) {
    if (entry["event"] != "valid" || !entry.contains("samples") || !entry.contains("updates")) continue;
    for (const ordered_json& sample : entry["samples"]) {
      if (!is_sample(sample)) continue;
      add_output(history_of(histories, sample)["outputs"], entry["updates"], sample["output"]);
    }
  }
  for (ordered_json& history : histories) {
    history["all"] = history["outputs"].size();
    thin(history["outputs"]);
  }
  return histories;
}

}  // namespace gyre
