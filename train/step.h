// One update of synchronous data-parallel training: micro-batches -> forward, backward -> reduce -> optimizer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/host_copy.h"
#include "gyre/train/micro_batch_sums.h"
#include "gyre/train/optim/optimizer.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/reducer.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/training_data.h"
#include "gyre/train/training_model.h"

namespace gyre {

struct StepSeconds {
  double data = 0, compute = 0;
  // After the last backward pass of a step. Waits of sharded gradients before that, and communication between GPUs,
  // count as compute.
  double communication = 0;
};

struct StepResult {
  LossSums sums;
  UpdateInfo update;
};

// The parameters of a step other than the model and the data.
struct StepOptions {
  uint64_t seed = 1;
  int micro_batches = 1;  // number per global batch, over all ranks
  Precision precision = Precision::fp32;
  Recompute recompute = Recompute::none;
};

class TrainStep {
 public:
  TrainStep(TrainingModel& model, Optimizer& optimizer, GradientReducer& reducer, Kernels& kernels, Communicator& ranks,
            const StepOptions& options);

  // Collective. Starts one update. The gradients must be zero, and are zero afterward. `update`: number of updates
  // since the start of the run, which seeds dropout. `take_batch`: returns this rank's part of the batch.
  // `own_stop_request`: returns this rank's request, after its backward pass. Adds to `seconds`. `before_optimizer`:
  // called before the optimizer starts; the previous update must have been finished then. Returns the most urgent
  // request of any rank. If any rank fails before the optimizer step, all ranks throw a RankError, and weights and
  // moments are unchanged.
  StopRequest start(uint64_t update, const std::function<const RankBatch&()>& take_batch,
                    const std::function<StopRequest()>& own_stop_request, StepSeconds& seconds,
                    const std::function<void()>& before_optimizer);
  // Collective. Waits for the figures of the started update. On a GPU, start the next update first, so that the GPU has
  // work during the wait. On a CPU the figures are available at once.
  StepResult finish();
  bool figures_are_late() const { return kernels_.device() != Device{}; }

  // Runs one update to its end. For callers that do not overlap updates.
  StepResult run(uint64_t update, const std::function<const RankBatch&()>& take_batch, StepSeconds& seconds);

  // Collective. Repeats the gradient computation of an update on every rank, and describes the first operation whose
  // value or gradient is not finite.
  std::string find_non_finite(uint64_t update, const RankBatch& batch);

  MicroBatchRange own_micro_batches() const { return own_; }

 private:
  class CollectiveErrorGuard;
  // The figures of an update that has been started.
  struct Started {
    explicit Started(int micro_batches) : sums(micro_batches) {}
    MicroBatchSums sums;
    std::vector<std::pair<int, HostCopy>> totals;  // totals of own micro-batches that are not in `sums` yet
    std::optional<UpdateInfo> skipped;             // if the optimizer had nothing to do
  };

  void run_micro_batch(uint64_t update, int number, const MicroBatch& micro_batch, TapeObserver* observer,
                       Started& started);
  void read_totals(Started& started) const;
  Tape make_tape(uint64_t update, int micro_batch);

  TrainingModel& model_;
  Optimizer& optimizer_;
  GradientReducer& reducer_;
  Kernels& kernels_;
  Communicator& ranks_;
  StepOptions options_;
  MicroBatchRange own_;
  std::optional<Started> started_;
};

}  // namespace gyre
