#include "tests/autograd/op_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gyre {
namespace {

constexpr uint64_t kSeed = 3;

Tensor cotangent_for(const Shape& shape, DType dtype) { return normal_tensor(shape, dtype, kSeed, 0); }

Tensor input_value(const OpCase& row, size_t i, DType dtype) {
  return row.inputs[i].value.to(row.parameters[i] ? statistics_dtype(dtype) : dtype);
}

reference::Matrix to_matrix(const Tensor& t) {
  const Tensor wide = t.to(DType::f64);
  const bool vector = t.shape().rank() == 1;
  reference::Matrix m(vector ? 1 : t.dim(0), t.dim(-1));
  std::copy_n(wide.data<double>(), wide.size(), m.data.begin());
  return m;
}

Tensor to_tensor(const reference::Matrix& m, const Shape& shape) { return Tensor::from<double>(shape, m.data); }

}  // namespace

OpRun run_op(Kernels& kernels, const OpCase& row, DType dtype, int frozen) {
  Tape::Options options = kOpCaseTape;
  if (dtype == DType::bf16) options.precision = Precision::bf16;
  Tape tape(kernels, options);
  std::vector<Var> inputs;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const Tensor value = input_value(row, i, dtype).to(kernels.device());
    inputs.push_back(int(i) == frozen ? tape.constant(value) : tape.leaf(value));
  }
  const Var output = row.op(tape, inputs);
  const Tensor& value = output.value();
  OpRun run{value.clone().to_cpu(), {}};
  if (output.requires_gradient()) {
    tape.backward(output, cotangent_for(output.shape(), dtype).to(value.dtype()).to(value.device()));
  }
  for (const Var& input : inputs) {
    run.gradients.push_back(input.node() < 0 ? Tensor() : tape.gradient(input).to_cpu());
  }
  return run;
}

OpRun run_reference(const OpCase& row, DType dtype) {
  reference::Graph graph(dtype == DType::bf16 ? Precision::bf16 : Precision::fp32);
  std::vector<reference::Value> inputs;
  for (size_t i = 0; i < row.inputs.size(); ++i) inputs.push_back(graph.input(to_matrix(input_value(row, i, dtype))));
  const reference::Value output = row.reference(inputs);
  const Shape shape{output.rows(), output.cols()};
  graph.backward(output, to_matrix(cotangent_for(shape, dtype)));
  OpRun run{to_tensor(output.value(), shape), {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    run.gradients.push_back(to_tensor(inputs[i].gradient(), row.inputs[i].value.shape()));
  }
  return run;
}

double relative_error(const Tensor& actual, const Tensor& expected, double floor) {
  const Tensor a = actual.to(DType::f64), b = expected.to(DType::f64);
  if (a.size() != b.size()) return std::nan("");
  double difference = 0, scale = floor;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a.data<double>()[i] - b.data<double>()[i]);
    if (!(d <= difference)) difference = d;
    if (std::isnan(d)) return d;
    scale = std::max(scale, std::abs(b.data<double>()[i]));
  }
  return difference == 0 ? 0 : difference / scale;
}

double largest_magnitude(const std::vector<Tensor>& tensors) {
  double largest = 0;
  for (const Tensor& t : tensors) {
    const Tensor wide = t.to(DType::f64);
    for (double x : wide.span<double>()) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

void check_same_bits(const OpRun& a, const OpRun& b) {
  CHECK(same_bits(a.output, b.output));
  for (size_t i = 0; i < a.gradients.size(); ++i) CHECK(same_bits(a.gradients[i], b.gradients[i]));
}

}  // namespace gyre
