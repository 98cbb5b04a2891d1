#include "tools/page/run/run_columns.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "gyre/core/io/json.h"

namespace gyre {

namespace {

// Numbers in entries that are no metrics.
constexpr std::array<std::string_view, 5> kNoMetrics{"updates", "epoch", "target_tokens", "seconds",
                                                     "validation_seconds"};

Json number_or_null(const Json& entry, const std::string& name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_number() ? *found : Json();
}

// The target tokens of a run by its updates, which training and the end of jobs report.
class TokensOfUpdates {
 public:
  explicit TokensOfUpdates(const std::vector<Json>& entries) {
    for (const Json& entry : entries) {
      const Json tokens = number_or_null(entry, "target_tokens");
      if (!tokens.is_null() && entry.contains("updates"))
        known_.push_back({entry["updates"].get<double>(), tokens.get<double>()});
    }
    std::stable_sort(known_.begin(), known_.end(),
                     [](const Count& a, const Count& b) { return a.updates < b.updates; });
  }

  // Null beyond the last report.
  Json at(double updates) const {
    const auto next = std::lower_bound(known_.begin(), known_.end(), updates,
                                       [](const Count& count, double wanted) { return count.updates < wanted; });
    if (next == known_.end()) return {};
    const Count before = next == known_.begin() ? Count{} : *(next - 1);
    if (next->updates == before.updates) return int64_t(next->tokens);
    const double share = (updates - before.updates) / (next->updates - before.updates);
    return int64_t(before.tokens + share * (next->tokens - before.tokens));
  }

 private:
  struct Count {
    double updates = 0, tokens = 0;
  };
  std::vector<Count> known_;
};

std::vector<const Json*> entries_of(const std::vector<Json>& entries, std::string_view event) {
  std::vector<const Json*> found;
  for (const Json& entry : entries)
    if (entry["event"] == event && entry.contains("updates")) found.push_back(&entry);
  return found;
}

// The loss; infinite if it was not finite, so that such entries count as the largest.
double loss_of(const Json* entry) {
  const auto found = entry->find("loss");
  if (found == entry->end()) return 0;
  return found->is_number() ? found->get<double>() : std::numeric_limits<double>::infinity();
}

// At most kMaxPageEntries entries: of each of equal parts the first, the last, and those of the smallest and the
// largest loss.
std::vector<const Json*> thinned(const std::vector<const Json*>& all) {
  constexpr size_t kParts = kMaxPageEntries / 4;
  if (all.size() <= kMaxPageEntries) return all;
  const auto has_less = [](const Json* a, const Json* b) { return loss_of(a) < loss_of(b); };
  std::vector<const Json*> kept;
  for (size_t part = 0; part < kParts; ++part) {
    const auto begin = all.begin() + std::ptrdiff_t(part * all.size() / kParts);
    const auto end = all.begin() + std::ptrdiff_t((part + 1) * all.size() / kParts);
    const auto [least, most] = std::minmax_element(begin, end, has_less);
    std::set<std::ptrdiff_t> places;  // places in order, each once
    for (const auto place : {begin, least, most, end - 1}) places.insert(place - begin);
    for (const std::ptrdiff_t place : places) kept.push_back(begin[place]);
  }
  return kept;
}

// The names of all metrics, in the order in which they first occur.
std::vector<std::string> metrics_of(const std::vector<const Json*>& entries) {
  std::vector<std::string> names;
  for (const Json* entry : entries)
    for (const auto& [name, value] : entry->items())
      if (is_metric(name, value) && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

}  // namespace

bool is_metric(const std::string& name, const Json& value) {
  return (value.is_number() || value.is_null()) &&
         std::find(kNoMetrics.begin(), kNoMetrics.end(), name) == kNoMetrics.end();
}

Json metric_columns(const std::vector<Json>& entries, std::string_view event) {
  const std::vector<const Json*> all = entries_of(entries, event);
  const std::vector<const Json*> shown = thinned(all);
  const TokensOfUpdates tokens(entries);
  Json columns{{"entries", all.size()}};
  for (const char* name : {"updates", "target_tokens", "seconds"}) columns[name] = Json::array();
  for (const Json* entry : shown) {
    const Json own_tokens = number_or_null(*entry, "target_tokens");
    columns["updates"].push_back((*entry)["updates"]);
    columns["target_tokens"].push_back(own_tokens.is_null() ? tokens.at((*entry)["updates"].get<double>())
                                                            : own_tokens);
    columns["seconds"].push_back(number_or_null(*entry, "seconds"));
  }
  columns["values"] = Json::object();
  for (const std::string& name : metrics_of(all)) {
    Json& column = columns["values"][name] = Json::array();
    for (const Json* entry : shown) column.push_back(number_or_null(*entry, name));
  }
  return columns;
}

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
