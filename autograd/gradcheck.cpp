#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"

namespace gyre {
namespace {

constexpr uint64_t kCotangentStream = 0, kSampleStream = 1;

std::vector<Tensor> analytic_gradients(Kernels& kernels, const TapeFunction& f, const std::vector<NamedTensor>& inputs,
                                       const Tensor& cotangent, const GradcheckOptions& options) {
  Tape tape(kernels, options.tape);
  std::vector<Var> leaves;
  for (const NamedTensor& input : inputs) leaves.push_back(tape.leaf(input.value.to(kernels.device())));
  const Var output = f(tape, leaves);
  tape.backward(output, cotangent.to(output.value().device()));
  std::vector<Tensor> gradients;
  for (const Var& leaf : leaves) {
    const Tensor& g = tape.gradient(leaf);
    // None came: f does not depend on it.
    gradients.push_back(g ? g.to_cpu() : Tensor::zeros(leaf.shape(), DType::f64));
  }
  return gradients;
}

// On the CPU.
Tensor evaluate(Kernels& kernels, const TapeFunction& f, const std::vector<NamedTensor>& inputs,
                const GradcheckOptions& options) {
  Tape::Options forward_only = options.tape;
  forward_only.record = false;
  Tape tape(kernels, forward_only);
  std::vector<Var> constants;
  for (const NamedTensor& input : inputs) constants.push_back(tape.constant(input.value.to(kernels.device())));
  return f(tape, constants).value().to_cpu();
}

// The derivative of <cotangent, f> by one entry of an input, from four values of f:
//   f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h + O(h^4)   (Abramowitz & Stegun 25.3.6)
// Outputs are subtracted one by one before they are summed: those that the entry does not reach add no rounding error.
double central_difference(Kernels& kernels, const TapeFunction& f, std::vector<NamedTensor> inputs, size_t which,
                          int64_t entry, const Tensor& cotangent, const GradcheckOptions& options) {
  inputs[which].value = inputs[which].value.clone();
  double& x = inputs[which].value.data<double>()[entry];
  const double middle = x, step = options.step * std::max(1.0, std::abs(middle));
  const auto moved = [&](double steps) {
    x = middle + steps * step;
    return evaluate(kernels, f, inputs, options).clone();  // f may hand its input back
  };
  const Tensor up = moved(1), down = moved(-1), up2 = moved(2), down2 = moved(-2);
  double sum = 0;
  for (int64_t i = 0; i < up.size(); ++i) {
    const auto difference = [i](const Tensor& a, const Tensor& b) { return a.data<double>()[i] - b.data<double>()[i]; };
    sum += cotangent.data<double>()[i] * (8 * difference(up, down) - difference(up2, down2));
  }
  return sum / (12 * step);
}

std::vector<int64_t> sampled_entries(int64_t size, size_t input, const GradcheckOptions& options) {
  std::vector<int64_t> entries(static_cast<size_t>(size));
  std::iota(entries.begin(), entries.end(), int64_t{0});
  if (size <= options.max_entries) return entries;
  RandomStream random(options.seed, mix(kSampleStream, input));
  random.shuffle(entries);
  entries.resize(size_t(options.max_entries));
  return entries;
}

double largest_magnitude(const std::vector<Tensor>& tensors) {
  double largest = 0;
  for (const Tensor& t : tensors) {
    for (double x : t.span<double>()) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

}  // namespace

Tensor normal_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t stream) {
  Tensor t = Tensor::empty(shape, DType::f64);
  for (int64_t i = 0; i < t.size(); ++i) t.data<double>()[i] = random_normal(seed, stream, uint64_t(i));
  return dtype == DType::f64 ? t : t.to(dtype);
}

std::vector<GradcheckResult> gradcheck(Kernels& kernels, const TapeFunction& f, const std::vector<NamedTensor>& inputs,
                                       const GradcheckOptions& options) {
  for (const NamedTensor& input : inputs) {
    require(input.value.dtype() == DType::f64, "[gradcheck] input ", input.name, " must be f64, got ",
            dtype_name(input.value.dtype()));
  }
  const Shape output = evaluate(kernels, f, inputs, options).shape();
  const Tensor cotangent = normal_tensor(output, DType::f64, options.seed, kCotangentStream);
  const std::vector<Tensor> gradients = analytic_gradients(kernels, f, inputs, cotangent, options);
  const double floor = std::max(0.01 * largest_magnitude(gradients), 1e-6);
  std::vector<GradcheckResult> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    GradcheckResult worst{.input = inputs[i].name};
    for (int64_t entry : sampled_entries(inputs[i].value.size(), i, options)) {
      const double analytic = gradients[i].data<double>()[entry];
      const double numeric = central_difference(kernels, f, inputs, i, entry, cotangent, options);
      const double difference = std::abs(analytic - numeric);
      const double error = difference == 0 ? 0 : difference / std::max({std::abs(analytic), std::abs(numeric), floor});
      worst.entries.push_back({entry, analytic, numeric, error});
      // Once NaN, the worst stays NaN: every comparison with it is false.
      if (worst.worst_index >= 0 && error <= worst.error) continue;
      if (std::isnan(worst.error)) continue;
      worst.worst_index = entry;
      worst.analytic = analytic;
      worst.numeric = numeric;
      worst.error = error;
    }
    worst.passed = worst.error <= options.tolerance;
    results.push_back(worst);
  }
  return results;
}

}  // namespace gyre
