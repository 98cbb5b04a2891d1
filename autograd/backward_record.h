// Backward, step by step, kept: every value and gradient as it was when a node's backward had run, so that one can walk
// through it in both directions. Takes the memory of all gradients.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape.h"

namespace gyre {

struct BackwardStep {
  struct Input {
    int node = -1;     // -1: a constant
    std::string name;  // of the op that made it, or of the parameter
    Tensor value;      // undefined: the op has no such input
    Tensor gradient;   // with what this step added; undefined where none is wanted
  };
  int node = -1;
  std::string op, module;
  std::string_view formula;
  OpFacts facts;
  Tensor output, doutput;
  std::vector<Input> inputs;
};

class BackwardRecord final : public TapeObserver {
 public:
  const std::vector<BackwardStep>& steps() const { return steps_; }  // in the order of backward

  void before_backward(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

 private:
  std::vector<BackwardStep> steps_;
};

// The tensor of the step, or one of its inputs, that is not finite: "output", "doutput", "input 1", "gradient of input
// 0"; empty where all are.
std::string non_finite_part(const BackwardStep& step);

}  // namespace gyre
