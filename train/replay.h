// The updates that a run made after a checkpoint, made once more to find out what went wrong. Nothing is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/checkpoint.h"
#include "train/step.h"
#include "train/training_data.h"

namespace gyre {

struct Anomaly {
  uint64_t update = 0;  // from 1
  double gradient_norm = 0;
  std::string report;  // TrainStep::find_non_finite
};

// Collective. Goes on from `progress`, with what a checkpoint restored, until the gradient of an update is not finite;
// none where `updates` of them were finite.
std::optional<Anomaly> replay(TrainStep& step, TrainingData& data, Progress progress, uint64_t updates);

}  // namespace gyre
