// Adam and AdamW over the flat arenas of the parameters, with clipping by the global norm and a moving average of the
// weights. Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019 (decoupled decay); PyTorch's clip_grad_norm_.
// The average's decay after n updates is min(ema, (1 + n) / (10 + n)), TensorFlow's and Marian's.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/parameters.h"
#include "core/kernels.h"
#include "core/safetensors.h"
#include "train/options.h"

namespace gyre {

struct UpdateInfo {
  double gradient_norm = 0;  // of the gradient divided by the normaliser, before clipping
  double learning_rate = 0;
  bool finite = true;  // false: the norm was infinite or NaN and no weight or moment was changed
};

class Optimizer {
 public:
  // Parameters are allocated and their trainable flags set; frozen ones are never changed. Keeps references.
  Optimizer(Parameters& parameters, Kernels& kernels, const OptimizerOptions& options);

  // One update with gradient / normaliser (the global count of target tokens), at the rate of train/schedule.h for
  // step(). Leaves all gradients zero, after a skipped update too.
  UpdateInfo update(double normaliser);

  uint64_t step() const { return step_; }  // updates made; skipped ones do not count
  void set_step(uint64_t step) { step_ = step; }

  // Live views of the moments, "m.<parameter>" and "v.<parameter>": what a checkpoint saves and fills.
  std::vector<NamedTensor> moments() const;
  bool has_average() const { return average_.defined(); }
  // Live view of the moving average of a parameter of this store; only with has_average().
  Tensor average(const Parameter& parameter) const { return view(average_, parameter); }
  // Makes the moving average equal to the weights: after weights were loaded from outside.
  void reset_average();

 private:
  friend class AverageScope;
  struct Range {  // trainable elements of the arenas that share one rule of decay
    int64_t begin, end;
    bool decay;
  };

  static Tensor view(const Tensor& arena, const Parameter& parameter);
  std::vector<Range> trainable_ranges() const;

  Parameters& parameters_;
  Kernels& kernels_;
  OptimizerOptions options_;
  std::vector<Range> ranges_;
  Tensor m_, v_, average_;  // flat, laid out as the arenas
  uint64_t step_ = 0;
};

// While it lives the parameters hold the moving average: for validation. Nothing happens without one.
class AverageScope {
 public:
  explicit AverageScope(Optimizer& optimizer) : optimizer_(optimizer) { swap(); }
  ~AverageScope() { swap(); }
  AverageScope(const AverageScope&) = delete;
  AverageScope& operator=(const AverageScope&) = delete;

 private:
  void swap();
  Optimizer& optimizer_;
};

}  // namespace gyre
