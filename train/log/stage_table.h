// The loss and the accuracy that each stage of a run reached, from the run's metrics (train/log/metrics_log.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"

namespace gyre {

struct StageRow {
  uint64_t stage = 1;       // number of the stage, from 1
  uint64_t begin = 0;       // the number of updates before it
  uint64_t updates = 0;     // finished ones
  uint64_t of_updates = 0;  // updates of the whole stage
  int max_length = 0;       // limit of a sample, in tokens
  uint64_t batch = 0;
  std::string batch_unit{};
  uint64_t tokens = 0;  // tokens of the finished updates that metrics.jsonl reports
  // Cross-entropy in nats per prediction and share of correct predictions: means over the last tenth of the finished
  // updates, and those of the last validation in the stage.
  std::optional<double> loss{}, accuracy{}, valid_loss{}, valid_accuracy{};
};

// One row for each stage that has begun; none if the run has no stages. `entries`: those of read_metrics(). Throws an
// Error if the entry of a stage is incomplete.
std::vector<StageRow> stage_rows(const std::vector<Json>& entries);

}  // namespace gyre
