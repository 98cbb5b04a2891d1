// One update of synchronous data-parallel training: micro-batches -> forward, backward -> reduce -> optimizer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/host_copy.h"
#include "gyre/core/kernels/arguments.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/optim/optimizer.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/reducer.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/task.h"

namespace gyre {

// Sums over the predictions of a global batch. Every rank has the same bits.
struct LossSums {
  double loss = 0;  // cross-entropy with label smoothing
  double nll = 0;
  double correct = 0;
  double tokens = 0;  // number of predictions
  void add(const LossSums& other);
};

// The reason why a rank requests the end of the run after the current update.
enum class StopRequest : uint8_t { none, out_of_time, signal };

// Exchanges the sums of all micro-batches. Each rank fills in its own micro-batches and leaves zeros elsewhere, so that
// the all-reduce does not round. Then every rank adds the micro-batches in the order of the tree.
class MicroBatchSums {
 public:
  explicit MicroBatchSums(int micro_batches);

  void set_tokens(int micro_batch, int64_t predictions);
  void set_losses(int micro_batch, const CrossEntropySums& sums);
  void request_stop(StopRequest request);
  void report_failure() { flag(Flag::failed) = 1; }
  // Adds FLOPs of this rank's micro-batches.
  void add_flops(double flops) { flag(Flag::flops) += flops; }
  // The number of predictions of the global batch according to this rank's data.
  void set_predictions(uint64_t predictions) { flag(Flag::predictions) = double(predictions); }

  // Collective. The first exchanges all values but the losses, the second the losses, the third both at once.
  void exchange_flags(Communicator& ranks) { ranks.all_reduce(all().subspan(kLosses * micro_batches_)); }
  void exchange_losses(Communicator& ranks) { ranks.all_reduce(all().first(kLosses * micro_batches_)); }
  void exchange_all(Communicator& ranks) { ranks.all_reduce(all()); }

  LossSums total() const { return {field(0), field(1), field(2), tokens()}; }
  double tokens() const { return field(kLosses); }
  StopRequest stop() const;
  bool failed() const { return flag(Flag::failed) > 0; }
  double predictions_of_all_ranks() const { return flag(Flag::predictions); }
  double flops_of_all_ranks() const { return flag(Flag::flops); }

 private:
  static constexpr size_t kLosses = 3, kFields = 4;  // the fields of LossSums; the first three are the losses
  enum class Flag : size_t { predictions, failed, stopped_by_signal, out_of_time, flops, count };
  double& at(size_t field, int micro_batch) { return values_[field * micro_batches_ + size_t(micro_batch)]; }
  double field(size_t f) const;
  double& flag(Flag f) { return values_[kFields * micro_batches_ + size_t(f)]; }
  double flag(Flag f) const { return values_[kFields * micro_batches_ + size_t(f)]; }
  std::span<double> all() { return values_; }

  size_t micro_batches_;
  std::vector<double> values_;  // micro_batches_ values of each field, then the flags
};

struct StepSeconds {
  double data = 0, compute = 0;
  // After the last backward pass of a step. Waits of sharded gradients before that, and communication between GPUs,
  // count as compute.
  double communication = 0;
};

struct StepResult {
  LossSums sums;
  UpdateInfo update;
  // FLOPs of forward and backward on all ranks: of matrix products and attention (Op::flops), without recomputation and
  // without the gradients of frozen weights.
  double flops = 0;
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

// Repeats the updates of a run after a checkpoint to find a gradient that cannot be applied. Writes nothing.
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
