// Records the values and gradients of a training step as samples: what gyre inspect page shows. Unlike BackwardTrace
// (autograd/inspect), it keeps no tensors, and it tells what each op adds to a gradient to which several ops add.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/tape.h"
#include "tools/page/tape/tensor_sample.h"

namespace gyre {

// A function that records ops, and the gradient of its result, from which backward starts.
struct StepFunction {
  std::function<Var(Tape&)> record;
  Tape::Options tape;
  Tensor cotangent = {};  // undefined: 1, for a scalar result
};

struct RecordedNode {
  struct Input {
    int node = -1;                         // -1: a constant, or an optional input that is absent
    std::optional<TensorSample> constant;  // value of a constant
  };
  TensorSample value;
  std::optional<TensorSample> gradient;  // final; none if the loss does not depend on the node
  std::vector<Input> inputs;
  std::vector<std::pair<std::string, TensorSample>> saved;
  std::vector<std::pair<std::string, TensorSample>> computed;
};

struct RecordedStep {
  // An input to whose gradient several ops add.
  struct Path {
    int input = 0;                      // number among the inputs
    int number = 0;                     // number of this path to the gradient, in the order of backward, from 1
    std::optional<TensorSample> added;  // part of this step: the difference of two sums; none for the first path
    std::optional<TensorSample> sum;    // so far; none for the last path: the final gradient
  };
  int node = -1;
  std::vector<Path> paths;
  std::vector<int> final_parameters;  // nodes of the parameters whose gradients became final
  bool bias_done = false;             // the op that used the output has added the gradient of the bias
};

class StepRecorder final : public TapeObserver {
 public:
  explicit StepRecorder(const SampleLimits& limits) : limits_(limits) {}

  void read_forward(const Tape& tape);  // call it between forward and backward
  void before_backward(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;
  void on_parameter_ready(Parameter& parameter) override;

  const std::vector<RecordedNode>& nodes() const { return nodes_; }  // nodes in tape order
  const std::vector<RecordedStep>& steps() const { return steps_; }  // steps in backward order

 private:
  RecordedNode read(const Tape& tape, int number) const;
  void record_path(const Tape& tape, int input);

  SampleLimits limits_;
  std::vector<RecordedNode> nodes_;
  std::vector<RecordedStep> steps_;
  std::vector<int> uses_, done_;  // number of ops that use a node, and of those whose backward has run
  std::map<const Parameter*, int> parameter_nodes_;
  std::map<int, Tensor> before_;  // gradients before the step, by node
};

}  // namespace gyre
