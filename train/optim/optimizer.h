// The optimizer: an update rule (train/optim/update_rule.h) on the flat arenas of the parameters, with clipping by the
// global norm (PyTorch's clip_grad_norm_) and a moving average of the weights. The decay of the average after n updates
// is min(ema, (1 + n) / (10 + n)), as in TensorFlow and Marian.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/host_copy.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/optim/optimizer_options.h"
#include "gyre/train/optim/update_plan.h"
#include "gyre/train/optim/update_rule.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre {

// The sums of squares of a gradient arena, for its norm.
// Sums by block of kSquaresBlock elements. The blocks start anew at each span of the arena, so that they are the same
// for any ownership, and are added in the same order.
class GradientSquares {
 public:
  // `spans` cover the arena, in ascending order. Keeps a reference to `partition`.
  GradientSquares(const std::vector<ElementRange>& spans, const OptimizerPartition& partition, Device device);

  // The sums of all blocks, f64, of an arena, or of OptimizerPartition::packed_gradients() if they are defined.
  // Collective if ranks own parts of the gradients.
  const Tensor& compute(Kernels& kernels, const Tensor& gradients) const;

 private:
  struct Part {          // an owned range within a span
    ElementRange range;  // positions in the tensor of gradients
    int64_t first_block;
  };
  std::vector<Part> parts_;
  const OptimizerPartition& partition_;
  Tensor sums_;
};

// Optimizer state: one value for each element of the parameter arenas that this rank owns, or of ranges of them.
class StateArena {
 public:
  StateArena() = default;
  // Creates zeros with the dtype and device of `arena` for the owned elements within `covered`, which is in ascending
  // order. Keeps a reference to `partition`.
  StateArena(const OptimizerPartition& partition, const Tensor& arena, const std::vector<ElementRange>& covered);
  StateArena(const OptimizerPartition& partition, const Tensor& arena)
      : StateArena(partition, arena, {{0, arena.size()}}) {}

  bool defined() const { return partition_ != nullptr; }
  // Matches the owned values in `range` with the same elements of a complete arena.
  struct Match {
    Tensor shard, full;
  };
  std::vector<Match> matches(ElementRange range, const Tensor& arena) const { return matches(range, arena, 0); }
  const Tensor& owned_values() const { return values_; }  // values of the ranges, one after another

  // Copies the elements from and to a complete arena. copy_to() also gets the elements that other ranks own, and is
  // then collective.
  void copy_from(const Tensor& arena) const;
  void copy_to(const Tensor& arena) const;

  // The values of a parameter, in its shape. Collective if other ranks own some of them, else a view.
  Tensor read(const Parameter& parameter) const;
  void write(const Parameter& parameter, const Tensor& values) const;

 private:
  struct Piece {
    ElementRange range;
    Tensor values;
  };
  std::vector<Piece> pieces(ElementRange range) const;
  std::vector<Match> matches(ElementRange range, const Tensor& arena, int64_t first) const;

  const OptimizerPartition* partition_ = nullptr;
  PackedRanges owned_;
  Tensor values_;
};

struct UpdateInfo {
  double gradient_norm = 0;  // norm of the gradient divided by the normalizer, before clipping
  double learning_rate = 0;
  // False if the norm is NaN, infinite or too large for the update rule: weights and state are then unchanged.
  bool accepted = true;
};

// A tensor of the optimizer's state. Reading is collective if ranks own parts of it.
struct StateTensor {
  std::string name;
  Shape shape;
  std::function<Tensor()> read;
  std::function<void(const Tensor&)> write;
};

class Optimizer {
 public:
  // The parameters must be allocated, with their trainable flags set; frozen ones are never changed. Keeps references.
  // `partition`: nullptr if this process owns all elements. If is_sharded(), all methods that access tensors are
  // collective.
  Optimizer(Parameters& parameters, Kernels& kernels, const OptimizerOptions& options,
            const OptimizerPartition* partition = nullptr);
  bool is_sharded() const { return partition_.is_sharded(); }

  // Makes one update with gradient / normalizer, at the learning rate of step() (train/optim/schedule.h). `normalizer`:
  // the global number of predictions. Only the owned elements of the gradients are used. Sets all gradients to zero,
  // also if the update is skipped.
  UpdateInfo update(double normalizer) {
    start_update(normalizer);
    return finish_update();
  }

  // The two halves of update(), so that a GPU has work while the outcome is on its way to the CPU: between them, other
  // work may be queued that uses the new weights. Each start_update() needs a finish_update(), and until then step()
  // and moments_step() do not count the update.
  void start_update(double normalizer);
  UpdateInfo finish_update();

  // Replaces update() for a batch without predictions. Weights, moments and step() do not change.
  UpdateInfo skip();

  uint64_t step() const { return step_; }                  // number of updates; skipped ones do not count
  uint64_t moments_step() const { return moments_step_; }  // number of updates since the moments were zero
  void set_steps(uint64_t step, uint64_t moments_step) {
    step_ = step;
    moments_step_ = moments_step;
  }

  // The state of the update rule, "<slot>.<parameter>", for checkpoints.
  std::vector<StateTensor> state() const;
  bool has_average() const { return average_.defined(); }
  // The moving average of a parameter. Requires has_average().
  StateTensor average(const Parameter& parameter) const;
  // Sets the moving average to the weights, after weights have been loaded.
  void reset_average();

 private:
  friend class AverageScope;

  void make_state();
  void clear_gradients(const Tensor& gradients) const;
  Tensor gradients() const;  // gradients of at least the owned elements
  void copy_frozen_to_average() const;
  StateTensor rows_state(std::string name, const Tensor& values, const Parameter& p) const;

  Parameters& parameters_;
  Kernels& kernels_;
  OptimizerOptions options_;
  FullPartition unsharded_;
  const OptimizerPartition& partition_;
  std::unique_ptr<UpdateRule> rule_;
  UpdatePlan plan_;
  // The state of the rule, by slot: an arena, or numbers per row of all matrices, of which this rank's own are current.
  std::vector<StateArena> arenas_;
  std::vector<Tensor> row_states_;
  StateArena average_;
  GradientSquares gradient_squares_;
  Tensor verdict_;             // result of Kernels::judge_gradient for the last update
  HostCopy verdict_copy_;      // copy between start_update() and finish_update()
  double started_rate_ = 0;    // learning rate of the started update
  uint64_t step_ = 0;          // number of finished updates, for the schedule
  uint64_t moments_step_ = 0;  // number of updates of the moments, for the rule
};

// Replaces the parameters by the moving average during its lifetime, for validation. Does nothing if there is no moving
// average.
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
