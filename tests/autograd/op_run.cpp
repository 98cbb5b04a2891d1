#include "tests/autograd/op_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace gyre {
namespace {

constexpr uint64_t kSeed = 3;

Tensor cotangent_for(const Shape& shape, DType dtype) { return normal_tensor(shape, dtype, kSeed, 0); }

Tensor input_value(const OpCase& row, size_t i, DType dtype) {
  return row.inputs[i].value.to(row.parameters[i] ? statistics_dtype(dtype) : dtype);
}

Tape::Options tape_options(DType dtype, bool composed) {
  Tape::Options options = kOpCaseTape;
  if (dtype == DType::bf16) options.precision = Precision::bf16;
  options.composed = composed;
  return options;
}

std::vector<Var> input_leaves(Tape& tape, const OpCase& row, DType dtype, int frozen) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const Tensor value = input_value(row, i, dtype).to(tape.kernels().device());
    inputs.push_back(int(i) == frozen ? tape.constant(value) : tape.leaf(value));
  }
  return inputs;
}

// Runs backward from a random cotangent. `value` becomes the output of the result.
OpRun backward_from(const Var& output, const Tensor& value, const std::vector<Var>& inputs, DType dtype) {
  OpRun run{value.clone().to_cpu(), {}};
  Tape& tape = output.tape();
  if (output.requires_gradient()) {
    const Tensor& y = output.value();
    tape.backward(output, cotangent_for(output.shape(), dtype).to(y.dtype()).to(y.device()));
  }
  for (const Var& input : inputs) {
    run.gradients.push_back(input.node() < 0 ? Tensor() : tape.gradient(input).to_cpu());
  }
  return run;
}

OpRun run_on_tape(Kernels& kernels, const OpCase& row, DType dtype, int frozen, bool composed) {
  Tape tape(kernels, tape_options(dtype, composed));
  const std::vector<Var> inputs = input_leaves(tape, row, dtype, frozen);
  const Var output = row.op(tape, inputs);
  return backward_from(output, output.value(), inputs, dtype);
}

}  // namespace

std::vector<OpCase> chosen_rows() {
  const char* text = std::getenv("GYRE_OPS");
  std::vector<OpCase> rows = op_cases();
  std::erase_if(rows, [&](const OpCase& row) { return text && row.name.find(text) == row.name.npos; });
  REQUIRE_FALSE(rows.empty());
  return rows;
}

Var record(const OpCase& row, Tape& tape) {
  std::vector<Var> inputs;
  for (const NamedInput& input : row.inputs) inputs.push_back(tape.leaf(input.value));
  return row.op(tape, inputs);
}

OpRun run_op(Kernels& kernels, const OpCase& row, DType dtype, int frozen) {
  return run_on_tape(kernels, row, dtype, frozen, false);
}

OpRun run_composed(Kernels& kernels, const OpCase& row, DType dtype) {
  return run_on_tape(kernels, row, dtype, -1, true);
}

OpRun run_exactly(const OpCase& row, DType dtype) {
  Tape tape(cpu_kernels(), tape_options(dtype, true));
  std::vector<Var> inputs;
  for (size_t i = 0; i < row.inputs.size(); ++i) inputs.push_back(tape.leaf(input_value(row, i, dtype).to(DType::f64)));
  const Var output = row.op(tape, inputs);
  const Node& last = tape.nodes().at(size_t(output.node()));
  return backward_from(output, last.name() == "as_stored" ? last.input_values[0] : output.value(), inputs, dtype);
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

namespace {

// Whether the first `rows` rows have equal bits.
bool same_rows(const Tensor& a, const Tensor& b, int64_t rows) {
  const auto bytes = size_t(rows * a.cols()) * dtype_bytes(a.dtype());
  return std::memcmp(a.raw(), b.raw(), bytes) == 0;
}

}  // namespace

void check_apart_from_nan(Kernels& kernels, DType dtype) {
  const struct {
    const char* row;
    int64_t last;  // length of the last segment
  } cases[] = {{"causal", 65},      {"tiles-causal", 17}, {"tiles-dropout", 129},
               {"tiles-stages", 5}, {"tiles-window", 5},  {"tiles-grouped", 17},
               {"packed", 20},      {"causal-window", 3}, {"tiles-wide-rotated", 9}};
  const std::vector<OpCase> rows = chosen_rows();
  for (const auto& [name, last] : cases) {
    CAPTURE(name);
    const auto found = std::find_if(rows.begin(), rows.end(), [name = name](const OpCase& row) {
      return row.name == std::string("attention/") + name;
    });
    if (found == rows.end()) continue;
    OpCase row = *found;
    const OpRun expected = run_op(kernels, row, dtype);
    const Tensor& first = row.inputs[0].value;
    const int64_t others = first.rows() - last;
    row.inputs[0].value = first.clone();
    for (double& x : row.inputs[0].value.span<double>().subspan(size_t(others * first.cols())))
      x = std::numeric_limits<double>::quiet_NaN();
    const OpRun actual = run_op(kernels, row, dtype);
    CHECK(same_rows(actual.output, expected.output, others));
    CHECK(same_rows(actual.gradients[0], expected.gradients[0], others));
  }
}

}  // namespace gyre
