// One update of synchronous data-parallel training: micro-batches -> forward, backward -> reduce -> optimizer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gyre/train/optim/optimizer.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/reducer.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/training_data.h"
#include "gyre/train/training_model.h"

namespace gyre {

// Sums over the predictions of a global batch. Every rank has the same bits.
struct LossSums {
  double loss = 0;  // with label smoothing
  double nll = 0;
  double correct = 0;
  double tokens = 0;  // number of predictions
  void add(const LossSums& other);
};

struct StepSeconds {
  double data = 0, compute = 0;
  double communication = 0;  // not overlapped with backward; communication between GPUs counts as compute
};

// The reason why a rank requests the end of the run after the current update.
enum class StopRequest : uint8_t { none, out_of_time, signal };

struct StepResult {
  LossSums sums;
  UpdateInfo update;
  StopRequest stop = StopRequest::none;  // the most urgent request of any rank
};

// The parameters of a step other than the model and the data.
struct StepOptions {
  uint64_t seed = 1;
  int micro_batches = 1;  // per global batch, over all ranks
  Precision precision = Precision::fp32;
};

class TrainStep {
 public:
  TrainStep(TrainingModel& model, Optimizer& optimizer, GradientReducer& reducer, Kernels& kernels, Communicator& ranks,
            const StepOptions& options);

  // Collective. Runs one update. The gradients must be zero, and are zero afterward. `update`: number of finished
  // updates since the start of the run, which seeds dropout. `take_batch`: returns this rank's part of the batch.
  // `stop`: this rank's request. Adds to `seconds`. If any rank fails before the optimizer step, all ranks throw a
  // RankError, and weights and moments are unchanged.
  StepResult run(uint64_t update, const std::function<const RankBatch&()>& take_batch, StopRequest stop,
                 StepSeconds& seconds);

  // Collective. Repeats the gradient computation of an update on every rank, and describes the first operation whose
  // value or gradient is not finite.
  std::string find_non_finite(uint64_t update, const RankBatch& batch);

  MicroBatchRange own_micro_batches() const { return own_; }

 private:
  class CollectiveErrorGuard;

  LossSums run_micro_batch(uint64_t update, int number, const MicroBatch& micro_batch, TapeObserver* observer);
  Tape make_tape(uint64_t update, int micro_batch);

  TrainingModel& model_;
  Optimizer& optimizer_;
  GradientReducer& reducer_;
  Kernels& kernels_;
  Communicator& ranks_;
  StepOptions options_;
  MicroBatchRange own_;
};

}  // namespace gyre
