// Repeats the updates of a run after a checkpoint to find a gradient that cannot be applied. Writes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/step.h"
#include "gyre/train/training_data.h"

namespace gyre {

struct Anomaly {
  uint64_t update = 0;  // number of the update, from 1
  double gradient_norm = 0;
  std::string cause;
};

struct ReplayResult {
  uint64_t first = 0, last = 0;  // the updates to repeat, from 1
  std::optional<Anomaly> anomaly;
};

// Collective. Continues training from `progress`, at which a checkpoint has been restored, for `updates` updates or
// until the optimizer does not accept the gradient of one.
ReplayResult replay(TrainStep& step, TrainingData& data, Progress progress, uint64_t updates);

}  // namespace gyre
