#include "gyre/autograd/gradcheck/finite_differences.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace gyre
