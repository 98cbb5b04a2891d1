// Training steps of a workload as gyre train makes them: batch, forward, backward, the exchange of gradients,
// optimizer.
#pragma once

#include <cstdint>

#include "autograd/timeline.h"
#include "core/kernels.h"
#include "tools/workload.h"
#include "train/communicator.h"
#include "train/optimizer.h"
#include "train/reducer.h"

namespace gyre {

struct StepCost {
  double seconds = 0, flops = 0;  // FLOPs are the model's own: backward counts twice forward
  int64_t tokens = 0;             // of this rank
};

class StepRunner {
 public:
  // Collective; so is run(). Keeps references. Every rank has a batch of its own.
  StepRunner(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks,
             const ReducerOptions& options = {});

  // Steps from here on are looked at; null: no longer.
  void attach(Timeline* timeline) { timeline_ = timeline; }

  // Ends when a GPU is done with it. `number` chooses the batch.
  StepCost run(uint64_t number);

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
};

}  // namespace gyre
