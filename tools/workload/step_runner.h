// Runs training steps of a workload in the same way as gyre train: batch, forward, backward, gradient all-reduce,
// optimizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/optim/optimizer.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/reducer.h"
#include "tools/workload/workload.h"

namespace gyre {

// The span of the optimizer in the timeline of a step.
inline constexpr std::string_view kOptimizerSpan = "optimizer";

struct StepCost {
  double seconds = 0, flops = 0;  // FLOPs of the model: backward counts twice as much as forward
  int64_t tokens = 0;             // tokens of this rank
};

class StepRunner {
 public:
  // The constructor, run() and queue() are collective. Keeps references to its arguments. Every rank draws its own
  // batch.
  StepRunner(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks,
             const ReducerOptions& options = {});

  // Records the following steps in `timeline`; null stops recording.
  void attach(Timeline* timeline) { timeline_ = timeline; }

  // Runs one step and waits until a GPU has finished it. `number` selects the batch.
  StepCost run(uint64_t number);
  // Likewise, but does not wait for the end of the step: seconds is 0. Like the trainer, reads the outcome of the
  // previous update after forward and backward of this step are queued.
  StepCost queue(uint64_t number);
  // Reads the outcome of the last update. Call it after the last queue().
  void finish();

 private:
  double forward_and_backward(uint64_t number, double& predictions);
  void mark(std::string_view name);

  Workload& work_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
  GradientReducer reducer_;
  Optimizer optimizer_;
  Timeline* timeline_ = nullptr;
  bool started_ = false;  // an update has been started and not finished
};

// The functions below show profiles as tables or JSON: times in ms, GFLOP/s, and each row's share of the total.

// Averages the rows of several steps.
std::vector<ProfileRow> per_step(std::vector<ProfileRow> rows, int steps);

// limit_flops: the machine's limit in FLOP/s. predicted: rows whose times are shown beside the measured ones of the
// same name, if there are any.
Json profile_json(const std::vector<ProfileRow>& rows, double limit_flops,
                  const std::vector<ProfileRow>& predicted = {});
void print_profile(const std::string& title, const std::vector<ProfileRow>& rows, double limit_flops,
                   const std::vector<ProfileRow>& predicted = {});

}  // namespace gyre
