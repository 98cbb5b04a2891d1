// Adam and AdamW over the flat arenas of the parameters, with clipping by the global norm and a moving average of the
// weights. Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019 (decoupled decay); PyTorch's clip_grad_norm_.
// The average's decay after n updates is min(ema, (1 + n) / (10 + n)), TensorFlow's and Marian's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/parameters.h"
#include "core/kernels.h"
#include "train/options.h"
#include "train/ownership.h"
#include "train/state_arena.h"

namespace gyre {

struct UpdateInfo {
  double gradient_norm = 0;  // of the gradient divided by the normaliser, before clipping
  double learning_rate = 0;
  // false: the norm was NaN, infinite, or so large that its square is; no weight or moment was changed.
  bool finite = true;
};

// A tensor of the optimizer's state. Reading is collective where ranks own shares of it.
struct StateTensor {
  std::string name;
  Shape shape;
  std::function<Tensor()> read;
  std::function<void(const Tensor&)> write;
};

class Optimizer {
 public:
  // Parameters are allocated and their trainable flags set; frozen ones are never changed. Keeps references.
  // `ownership`: none when this process owns all. With is_shared() all calls that touch tensors are collective.
  Optimizer(Parameters& parameters, Kernels& kernels, const OptimizerOptions& options,
            const Ownership* ownership = nullptr);
  bool is_shared() const { return ownership_.is_shared(); }

  // One update with gradient / normaliser (the global count of target tokens), at the rate of train/schedule.h for
  // step(). Of the gradients only owned elements count. Leaves all of them zero, after a skipped update too.
  UpdateInfo update(double normaliser);

  // In place of update() where there is no gradient: a batch without predictions. Weights, moments and step() stay.
  UpdateInfo skip();

  uint64_t step() const { return step_; }                  // updates made; skipped ones do not count
  uint64_t moments_step() const { return moments_step_; }  // of these, those since the moments were zero
  void set_steps(uint64_t step, uint64_t moments_step) {
    step_ = step;
    moments_step_ = moments_step;
  }

  // The moments, "m.<parameter>" and "v.<parameter>": what a checkpoint saves and fills.
  std::vector<StateTensor> moments() const;
  bool has_average() const { return average_.defined(); }
  // The moving average of a parameter of this store; only with has_average().
  StateTensor average(const Parameter& parameter) const;
  // Makes the moving average equal to the weights: after weights were loaded from outside.
  void reset_average();

 private:
  friend class AverageScope;
  struct Rule {  // trainable elements of the arenas that share one rule of decay
    ElementRange range;
    bool decay;
  };

  double gradient_norm() const;
  void copy_frozen_to_average() const;
  std::vector<Rule> trainable_rules() const;

  Parameters& parameters_;
  Kernels& kernels_;
  OptimizerOptions options_;
  WholeOwnership whole_;
  const Ownership& ownership_;
  std::vector<Rule> rules_;
  StateArena m_, v_, average_;
  uint64_t step_ = 0;          // the schedule's
  uint64_t moments_step_ = 0;  // of the bias correction
};

// While it lives the parameters hold the moving average: for validation. Nothing happens without one.
class AverageScope {
 public:
  explicit AverageScope(const Optimizer& optimizer);
  ~AverageScope();
  AverageScope(const AverageScope&) = delete;
  AverageScope& operator=(const AverageScope&) = delete;

 private:
  const Optimizer& optimizer_;
  StateArena weights_;
};

}  // namespace gyre
