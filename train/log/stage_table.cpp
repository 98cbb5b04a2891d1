#include "gyre/train/log/stage_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {
namespace {

std::optional<double> number_of(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

template <class T>
T field_of(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  try {
    if (found != entry.end()) return found->get<T>();
  } catch (const nlohmann::json::exception&) {
  }
  throw Error("[stages] the entry of a stage in the metrics: expected a value of ", name, ", got ",
              found == entry.end() ? "nothing" : found->dump());
}

uint64_t updates_of(const Json& entry) { return entry.value("updates", uint64_t{0}); }

// The means of training over some updates. An entry of the metrics is itself a mean over the updates since the last
// one.
struct Mean {
  double loss = 0, accuracy = 0, updates = 0;

  void add(const Json& entry, uint64_t count) {
    const std::optional<double> own = number_of(entry, "cross-entropy");
    if (!own) return;
    loss += double(count) * *own;
    accuracy += double(count) * number_of(entry, "accuracy").value_or(0);
    updates += double(count);
  }
};

StageRow row_of(const Json& entry) {
  return {.stage = field_of<uint64_t>(entry, "stage"),
          .begin = field_of<uint64_t>(entry, "begin"),
          .of_updates = field_of<uint64_t>(entry, "stage_updates"),
          .max_length = field_of<int>(entry, "max_length"),
          .batch = field_of<uint64_t>(entry, "batch"),
          .batch_unit = field_of<std::string>(entry, "batch_unit")};
}

bool belongs(const Json& entry, const StageRow& row) {
  return updates_of(entry) > row.begin && updates_of(entry) <= row.begin + row.of_updates;
}

// Adds what the entries of training say. `entries`: of the whole run.
void add_training(StageRow& row, const std::vector<Json>& entries) {
  constexpr uint64_t kParts = 10;
  uint64_t before = row.begin, tokens_before = 0, tokens = 0;
  std::vector<std::pair<const Json*, uint64_t>> own;  // stages with the updates of each
  for (const Json& entry : entries) {
    if (updates_of(entry) <= row.begin) tokens_before = entry.value("target_tokens", tokens_before);
    if (!belongs(entry, row)) continue;
    row.updates = std::max(row.updates, updates_of(entry) - row.begin);
    tokens = entry.value("target_tokens", tokens);
    if (entry.at("event") != "train") continue;
    own.emplace_back(&entry, updates_of(entry) - before);
    before = updates_of(entry);
  }
  row.tokens = tokens - std::min(tokens, tokens_before);
  if (own.empty()) return;
  Mean mean;
  for (const auto& [entry, updates] : own)
    if (updates_of(*entry) > row.begin + row.updates - row.updates / kParts || entry == own.back().first)
      mean.add(*entry, updates);
  if (mean.updates == 0) return;
  row.loss = mean.loss / mean.updates;
  row.accuracy = mean.accuracy / mean.updates;
}

void add_validation(StageRow& row, const std::vector<Json>& entries) {
  for (const Json& entry : entries) {
    if (entry.at("event") != "valid" || !belongs(entry, row)) continue;
    row.valid_loss = number_of(entry, "loss");
    row.valid_accuracy = number_of(entry, "accuracy");
  }
}

}  // namespace

std::vector<StageRow> stage_rows(const std::vector<Json>& entries) {
  // The last entry of a stage counts: a stage may have changed when the run was resumed, and others may be gone.
  std::map<uint64_t, StageRow> stages;
  uint64_t last = 0;
  for (const Json& entry : entries) {
    if (entry.at("event") != "stage") continue;
    const StageRow row = row_of(entry);
    stages[row.stage] = row;
    last = field_of<uint64_t>(entry, "stages");
  }
  std::vector<StageRow> rows;
  for (auto& [number, row] : stages) {
    if (number > last) continue;
    add_training(row, entries);
    add_validation(row, entries);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace gyre
