// A recording of backward: every value and gradient as it was after each node's backward, so that a debugger can step
// through backward in both directions. Needs memory for all gradients.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/tape.h"

namespace gyre {

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
