// One update of synchronous data-parallel training: shards -> forward, backward -> reduce -> optimizer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "train/communicator.h"
#include "train/optimizer.h"
#include "train/reducer.h"
#include "train/shard_tree.h"
#include "train/training_data.h"
#include "train/training_model.h"

namespace gyre {

// Sums over the predictions of a global batch; the same bits on every rank.
struct LossSums {
  double loss = 0;  // with label smoothing
  double nll = 0;
  double correct = 0;
  double tokens = 0;  // predictions
  void add(const LossSums& other);
};

struct StepSeconds {
  double data = 0, compute = 0;
  double communication = 0;  // not hidden behind backward; what GPUs do among themselves counts as compute
};

// Why a rank wants the run to end after the current update.
enum class StopWish : uint8_t { none, out_of_time, signal };

struct StepResult {
  LossSums sums;
  UpdateInfo update;
  StopWish stop = StopWish::none;  // the most urgent wish of any rank
};

// What decides the course of a step besides the model and the data.
struct StepOptions {
  uint64_t seed = 1;
  int shards = 1;  // in the whole job
  Precision precision = Precision::fp32;
};

class TrainStep {
 public:
  TrainStep(TrainingModel& model, Optimizer& optimizer, GradientReducer& reducer, Kernels& kernels, Communicator& ranks,
            const StepOptions& options);

  // The gradients are zero before, and left zero. `update`: number of this update from the start of the run, from which
  // dropout follows. `take_batch`: this rank's part of the data. `stop`: this rank's wish. `seconds` is added to.
  // Throws RankError on all ranks when one fails, or the only one does; weights and moments are then as they were.
  StepResult run(uint64_t update, const std::function<const RankBatch&()>& take_batch, StopWish stop,
                 StepSeconds& seconds);

  // Collective: computes the update's gradient once more, rank by rank, and says where numbers first stop being finite.
  std::string find_non_finite(uint64_t update, const RankBatch& batch);

  ShardRange own_shards() const { return own_; }

 private:
  class Attempt;

  LossSums run_shard(uint64_t update, int number, const Shard& shard, TapeObserver* observer);
  Tape make_tape(uint64_t update, int shard);

  TrainingModel& model_;
  Optimizer& optimizer_;
  GradientReducer& reducer_;
  Kernels& kernels_;
  Communicator& ranks_;
  StepOptions options_;
  ShardRange own_;
};

}  // namespace gyre
