#include "gyre/train/replay.h"

#include <cmath>

namespace gyre {
namespace {

std::string find_cause(TrainStep& step, double gradient_norm, uint64_t finished_updates, const RankBatch& batch) {
  if (std::isfinite(gradient_norm)) return "this is too large for the update rule";
  return step.find_non_finite(finished_updates, batch);
}

}  // namespace

ReplayResult replay(TrainStep& step, TrainingData& data, Progress progress, uint64_t updates) {
  ReplayResult result{.first = progress.updates + 1, .last = progress.updates + updates, .anomaly = {}};
  while (progress.updates < result.last) {
    RankBatch batch;
    const auto take = [&]() -> const RankBatch& {
      data.start_epoch(progress.epoch, progress.updates - progress.batch);
      batch = data.batch(progress.batch, step.own_micro_batches());
      return batch;
    };
    StepSeconds seconds;
    const UpdateInfo update = step.run(progress.updates, take, seconds).update;
    if (!update.accepted) {
      result.anomaly = {progress.updates + 1, update.gradient_norm,
                        find_cause(step, update.gradient_norm, progress.updates, batch)};
      return result;
    }
    count(progress, batch, data.batches());
  }
  return result;
}

}  // namespace gyre
