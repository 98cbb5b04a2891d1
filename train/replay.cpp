#include "train/replay.h"

namespace gyre {

std::optional<Anomaly> replay(TrainStep& step, TrainingData& data, Progress progress, uint64_t updates) {
  for (const uint64_t end = progress.updates + updates; progress.updates < end;) {
    RankBatch batch;
    const auto take = [&]() -> const RankBatch& {
      data.start_epoch(progress.epoch);
      batch = data.batch(progress.batch, step.own_shards());
      return batch;
    };
    StepSeconds seconds;
    const StepResult result = step.run(progress.updates, take, StopWish::none, seconds);
    if (!result.update.finite)
      return Anomaly{progress.updates + 1, result.update.gradient_norm, step.find_non_finite(progress.updates, batch)};
    count(progress, batch, data.batches());
  }
  return std::nullopt;
}

}  // namespace gyre
