// Statistics of tensors, and the observers that read every value and gradient: one that finds the first NaN, and a
// recording of backward.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/tape.h"
#include "gyre/core/tensor.h"

namespace gyre {

struct TensorStats {
  int64_t nan = 0, infinite = 0;
  double min = 0, max = 0;  // range of the finite elements; min > max if there are none
  double norm = 0;          // Euclidean norm of the finite elements
  bool finite() const { return nan + infinite == 0; }
};

TensorStats compute_stats(const Tensor& tensor);
bool all_finite(const Tensor& tensor);

// For example "(4, 8) with 3 NaN and 1 infinite, the others in [-1, 2]" or "(4, 8), all in [-3, 800]".
std::string describe_stats(const Tensor& tensor);
// The same text from statistics that are already computed.
std::string describe_stats(const Shape& shape, const TensorStats& numbers);

// Finds the first op of a forward and backward pass that produces a NaN or an infinity. Attach it to a tape before
// recording. It reads every value and gradient, which makes a pass far slower.
class NanFinder final : public TapeObserver {
 public:
  // The first op with a non-finite result; empty if all results are finite. For example: "forward: bounded_exp in
  // encoder.layers.0.self_attn gives (4, 8) with 3 NaN and 1 infinite, the others in [-1, 2]; input 0: (4, 8), all in
  // [-3, 800]".
  const std::string& report() const { return report_; }

  void on_record(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

 private:
  std::string report_;
  bool of_checkpoint_ = false;  // the report is about a checkpoint, or about an op inside one
  bool found_inside_ = false;   // the report is about the checkpoint that backward records now
};

// A step of a BackwardTrace.
struct BackwardStep {
  struct Input {
    int node = -1;     // -1: a constant
    std::string name;  // name of the op that computed the input, or of the parameter
    Tensor value;      // undefined: an optional input that is absent
    Tensor gradient;   // including the contribution of this step; undefined if the input requires none
  };
  int node = -1;
  std::string op, module;
  std::string_view formula;
  OpMetadata metadata;
  Tensor output, doutput;
  std::vector<Input> inputs;
};

// A recording of backward: every value and gradient as it was after each node's backward, so that a debugger can step
// through backward in both directions. Needs memory for all gradients.
class BackwardTrace final : public TapeObserver {
 public:
  const std::vector<BackwardStep>& steps() const { return steps_; }  // steps in backward order

  void before_backward(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

 private:
  std::vector<BackwardStep> steps_;
};

// The first tensor of the step with a NaN or an infinity: "input 1", "output", "doutput" or "gradient of input 0".
// Empty if all are finite.
std::string non_finite_part(const BackwardStep& step);

}  // namespace gyre
