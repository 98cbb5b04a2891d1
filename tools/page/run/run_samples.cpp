#include "tools/page/run/run_samples.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "gyre/core/io/json.h"

namespace gyre {
namespace {

bool is_sample(const Json& json) {
  const auto has_text = [&](const char* name) { return json.contains(name) && json[name].is_string(); };
  return json.is_object() && has_text("source") && has_text("reference") && has_text("output");
}

// The history of the same source and reference, which is added if there is none.
Json& history_of(Json& histories, const Json& sample) {
  for (Json& history : histories) {
    if (history["source"] == sample["source"] && history["reference"] == sample["reference"]) return history;
  }
  histories.push_back({{"source", sample["source"]}, {"reference", sample["reference"]}, {"outputs", Json::array()}});
  return histories.back();
}

void add_output(Json& outputs, const Json& updates, const Json& text) {
  if (!outputs.empty() && outputs.back()["text"] == text) {
    outputs.back()["last"] = updates;
  } else {
    outputs.push_back({{"first", updates}, {"last", updates}, {"text", text}});
  }
}

// Keeps the first output and evenly spaced ones, with the last.
void thin(Json& outputs) {
  if (outputs.size() <= kMaxPageOutputs) return;
  Json kept = Json::array();
  for (size_t i = 0; i < kMaxPageOutputs; ++i)
    kept.push_back(outputs[i * (outputs.size() - 1) / (kMaxPageOutputs - 1)]);
  outputs = std::move(kept);
}

}  // namespace

Json sample_histories(const std::vector<Json>& entries) {
  Json histories = Json::array();
  for (const Json& entry : entries) {
    if (entry["event"] != "valid" || !entry.contains("samples") || !entry.contains("updates")) continue;
    for (const Json& sample : entry["samples"]) {
      if (!is_sample(sample)) continue;
      add_output(history_of(histories, sample)["outputs"], entry["updates"], sample["output"]);
    }
  }
  for (Json& history : histories) {
    history["all"] = history["outputs"].size();
    thin(history["outputs"]);
  }
  return histories;
}

}  // namespace gyre
