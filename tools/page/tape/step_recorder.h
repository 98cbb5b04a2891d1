// Records the values and gradients of a training step as samples: what gyre inspect page shows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/autograd/tape.h"
#include "gyre/core/io/json.h"

namespace gyre {

struct SampleLimits {
  int64_t whole = 1024;    // tensors of up to this many elements are kept whole
  int64_t lines = 4;       // number of rows, and of columns, that are shown of larger tensors
  int64_t longest = 4096;  // elements of such a row or column
};

// Columns are the last axis, rows all the others.
struct SampleBlock {
  int64_t row = 0, column = 0, rows = 0, columns = 0;
  int64_t elements() const { return rows * columns; }
};

struct TensorSample {
  Shape shape;
  DType dtype = DType::f32;
  TensorStats stats;
  std::vector<SampleBlock> blocks;         // the first rows, then the rest of the first columns
  std::vector<std::vector<float>> values;  // values of each block, row by row
};

// The blocks that sample_tensor() keeps of a tensor of this shape.
std::vector<SampleBlock> sample_blocks(const Shape& shape, const SampleLimits& limits);

TensorSample sample_tensor(const Tensor& tensor, const SampleLimits& limits);

// The object of tensor_json() (tools/inspect/tape/tape_report.h) with the blocks, whose values are base64 of
// little-endian fp32.
Json sample_json(const TensorSample& sample);

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

// Unlike BackwardTrace (autograd/inspect), it keeps no tensors, and it tells what each op adds to a gradient to which
// several ops add.
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
