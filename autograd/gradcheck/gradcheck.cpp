#include "gyre/autograd/gradcheck/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "gyre/core/random.h"

namespace gyre {
namespace {

// Assumed rounding error of each evaluation of f, in units in the last place of its outputs. In the op table and the
// small presets, the largest error observed where the true derivative is zero was 1.5.
constexpr double kRounding = 16;

}  // namespace

Difference central_difference(const PerturbedFunction& f, size_t input, int64_t entry, double step) {
  const Tensor& value = f.inputs[input].value;
  const Tensor place = value.reshape({value.size()}).slice(entry, entry + 1);  // may be on another device
  const Tensor middle = place.to_cpu().clone();
  const double x = middle.data<double>()[0], h = step * std::max(1.0, std::abs(x));
  const auto moved = [&](double steps) {
    place.copy_from(Tensor::from<double>({1}, {x + steps * h}));
    return f.evaluate().clone();  // the output may alias an input
  };
  const Tensor up = moved(1), down = moved(-1), up2 = moved(2), down2 = moved(-2);
  place.copy_from(middle);
  // Each output is subtracted before the sum, so outputs that do not depend on the entry add no rounding error.
  double sum = 0, size = 0;
  for (int64_t i = 0; i < up.size(); ++i) {
    const auto difference = [i](const Tensor& a, const Tensor& b) { return a.data<double>()[i] - b.data<double>()[i]; };
    const double c = f.cotangent.data<double>()[i];
    sum += c * (8 * difference(up, down) - difference(up2, down2));
    size += std::abs(c * up.data<double>()[i]);
  }
  return {sum / (12 * h), kRounding * std::numeric_limits<double>::epsilon() * size / h};
}

namespace {

constexpr uint64_t kSampleStream = 1;
constexpr int kRetries = 2;
constexpr double kRetryFactor = 0.1;  // multiplies the step

// Moves a random sample of `count` entries to the front.
void draw(std::vector<int64_t>& entries, size_t count, RandomStream& random) {
  for (size_t i = 0; i < count; ++i) std::swap(entries[i], entries[i + random.below(entries.size() - i)]);
}

// Samples max_entries entries: first those with a non-finite gradient; of the rest, a quarter with a zero gradient and
// three quarters with a nonzero one, as far as available.
std::vector<int64_t> sampled_entries(std::span<const double> gradient, size_t input, const GradcheckOptions& options) {
  std::vector<int64_t> broken, zero, other;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient[i];
    (!std::isfinite(g) ? broken : g == 0 ? zero : other).push_back(int64_t(i));
  }
  const size_t wanted = std::min(size_t(options.max_entries), gradient.size());
  const size_t first = std::min(broken.size(), wanted), rest = wanted - first;
  size_t zeros = std::min(rest / 4, zero.size());
  if (rest - zeros > other.size()) zeros = rest - other.size();
  RandomStream random(options.seed, mix(kSampleStream, input));
  draw(zero, zeros, random);
  draw(other, rest - zeros, random);
  std::vector<int64_t> entries(broken.begin(), broken.begin() + std::ptrdiff_t(first));
  std::copy_n(other.begin(), rest - zeros, std::back_inserter(entries));
  std::copy_n(zero.begin(), zeros, std::back_inserter(entries));
  std::sort(entries.begin(), entries.end());
  return entries;
}

double relative_error(double analytic, double numeric, double floor) {
  const double difference = std::abs(analytic - numeric);
  return difference == 0 ? 0 : difference / std::max({std::abs(analytic), std::abs(numeric), floor});
}

GradcheckEntry check_entry(const PerturbedFunction& f, size_t input, int64_t index, double analytic, double floor,
                           const GradcheckOptions& options) {
  GradcheckEntry nearest;
  Difference first;
  double step = options.step;
  for (int retry = 0; retry <= kRetries; ++retry, step *= kRetryFactor) {
    const Difference difference = central_difference(f, input, index, step);
    if (retry == 0) first = difference;
    nearest.retries = retry;
    // A smaller step has a larger rounding error, so a measurement that agrees with the first adds no information.
    const bool same = std::abs(difference.value - first.value) <= difference.noise + first.noise;
    if (retry > 0 && same) continue;
    const double least = std::max(floor, difference.noise / gradcheck_tolerance(DType::f64));
    const GradcheckEntry entry{index, analytic, difference.value, relative_error(analytic, difference.value, least)};
    if (retry == 0 || !is_worse(entry, nearest) || std::isnan(entry.error)) nearest = entry;
    nearest.retries = retry;
    if (!(nearest.error > options.tolerance)) break;  // NaN stops the loop too
  }
  return nearest;
}

double largest_magnitude(const std::vector<Tensor>& tensors) {
  double largest = 0;
  for (const Tensor& t : tensors) {
    for (double x : t.span<double>()) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

// gradients: those of <cotangent, f> with respect to each input, f64, on the CPU.
std::vector<GradcheckResult> compare(const PerturbedFunction& f, const std::vector<Tensor>& gradients,
                                     const GradcheckOptions& options, DType dtype) {
  const double floor = dtype == DType::f64 ? 1e-6 : std::max(0.01 * largest_magnitude(gradients), 1e-2);
  std::vector<GradcheckResult> results;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    const std::span<const double> gradient = gradients[i].span<double>();
    GradcheckResult result{.input = f.inputs[i].name, .entries = {}};
    for (int64_t entry : sampled_entries(gradient, i, options)) {
      result.entries.push_back(check_entry(f, i, entry, gradient[size_t(entry)], floor, options));
    }
    result.passed = result.worst().error <= options.tolerance;
    results.push_back(std::move(result));
  }
  return results;
}

// Fills in the dtype's default step and tolerance where the options give none.
GradcheckOptions resolved(GradcheckOptions options, DType dtype) {
  require(dtype == DType::f32 || dtype == DType::f64, "[gradcheck] gradients must be f32 or f64, got ", dtype);
  if (options.step == 0) options.step = gradcheck_step(dtype);
  if (options.tolerance == 0) options.tolerance = gradcheck_tolerance(dtype);
  return options;
}

std::vector<Tensor> analytic_gradients(Kernels& kernels, const TapeFunction& f, const std::vector<NamedInput>& inputs,
                                       const Tensor& cotangent, const Tape::Options& options, DType dtype) {
  Tape tape(kernels, options);
  std::vector<Var> leaves;
  for (const NamedInput& input : inputs) leaves.push_back(tape.leaf(input.value.to(dtype).to(kernels.device())));
  const Var output = f(tape, leaves);
  tape.backward(output, cotangent.to(output.value().dtype()).to(output.value().device()));
  std::vector<Tensor> gradients;
  for (const Var& leaf : leaves) {
    const Tensor& g = tape.gradient(leaf);
    // No gradient: f does not depend on this input.
    gradients.push_back(g ? g.to_cpu().to(DType::f64) : Tensor::zeros(leaf.shape(), DType::f64));
  }
  return gradients;
}

// f as a function of its trainable parameters, whose values are perturbed in place.
PerturbedFunction perturbed(Kernels& kernels, const ParameterFunction& f, Tape::Options tape_options) {
  tape_options.record = false;
  PerturbedFunction perturbed;
  for (const Parameter& p : f.parameters) {
    require(p.value.dtype() == DType::f64, "[gradcheck] parameter ", p.name, " must be f64 to be perturbed, got ",
            p.value.dtype());
    if (p.trainable) perturbed.inputs.push_back({p.name, p.value});
  }
  perturbed.evaluate = [&kernels, &f, tape_options] {
    Tape tape(kernels, tape_options);
    return f.record(tape).value().to_cpu();
  };
  perturbed.cotangent = Tensor::from<double>({1}, {1});
  return perturbed;
}

}  // namespace

double gradcheck_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-6 : 5e-3; }

double gradcheck_step(DType dtype) { return dtype == DType::f64 ? 1e-4 : 1e-6; }

bool is_worse(const GradcheckEntry& a, const GradcheckEntry& b) {
  const auto badness = [](double error) { return std::isnan(error) ? std::numeric_limits<double>::infinity() : error; };
  return badness(a.error) > badness(b.error);
}

GradcheckEntry GradcheckResult::worst() const {
  const auto worst = std::min_element(entries.begin(), entries.end(), is_worse);
  return worst == entries.end() ? GradcheckEntry() : *worst;
}

int64_t GradcheckResult::retried_entries() const {
  return std::count_if(entries.begin(), entries.end(), [](const GradcheckEntry& e) { return e.retries > 0; });
}

bool all_passed(const std::vector<GradcheckResult>& results) {
  return std::all_of(results.begin(), results.end(), [](const GradcheckResult& result) { return result.passed; });
}

Tensor normal_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t stream) {
  Tensor t = Tensor::empty(shape, DType::f64);
  for (int64_t i = 0; i < t.size(); ++i) t.data<double>()[i] = random_normal(seed, stream, uint64_t(i));
  return dtype == DType::f64 ? t : t.to(dtype);
}

std::vector<GradcheckResult> gradcheck(Kernels& kernels, const TapeFunction& f, const std::vector<NamedInput>& inputs,
                                       const GradcheckOptions& options, DType dtype) {
  const GradcheckOptions resolved_options = resolved(options, dtype);
  PerturbedFunction perturbed;
  std::vector<NamedInput> rounded;
  for (const NamedInput& input : inputs) {
    require(input.value.dtype() == DType::f64, "[gradcheck] input ", input.name, " must be f64, got ",
            input.value.dtype());
    rounded.push_back({input.name, input.value.to(dtype).to(DType::f64)});
    perturbed.inputs.push_back({input.name, rounded.back().value.clone().to(kernels.device())});
  }
  Tape::Options forward_only = options.tape;
  forward_only.record = false;
  perturbed.evaluate = [&] {
    Tape tape(kernels, forward_only);
    std::vector<Var> constants;
    for (const NamedInput& input : perturbed.inputs) constants.push_back(tape.constant(input.value));
    return f(tape, constants).value().to_cpu();
  };
  const Shape output = perturbed.evaluate().shape();
  // No input may have the same numbers: those of y = x / |x| with dy = x have no gradient.
  const uint64_t stream = hash_name("cotangent of a gradient check");
  perturbed.cotangent = normal_tensor(output, dtype, options.seed, stream).to(DType::f64);
  const std::vector<Tensor> gradients =
      analytic_gradients(kernels, f, rounded, perturbed.cotangent, options.tape, dtype);
  return compare(perturbed, gradients, resolved_options, dtype);
}

std::vector<GradcheckResult> gradcheck(Kernels& kernels, const ParameterFunction& f, const ParameterFunction& exact,
                                       const GradcheckOptions& options) {
  require(f.parameters.count() == exact.parameters.count(), "[gradcheck] expected ", f.parameters.count(),
          " parameters of the exact function, got ", exact.parameters.count());
  const DType dtype = f.parameters.values().dtype();
  const GradcheckOptions resolved_options = resolved(options, dtype);
  f.parameters.gradients().zero();
  Tape tape(kernels, options.tape);
  tape.backward(f.record(tape));
  std::vector<Tensor> gradients;
  for (const Parameter& p : f.parameters) {
    const Tensor& value = exact.parameters[size_t(p.index)].value;
    if (&f.parameters != &exact.parameters) value.copy_from(p.value.to_cpu().to(DType::f64).to(value.device()));
    if (p.trainable) gradients.push_back(p.gradient.to_cpu().to(DType::f64));
  }
  return compare(perturbed(kernels, exact, options.tape), gradients, resolved_options, dtype);
}

}  // namespace gyre
