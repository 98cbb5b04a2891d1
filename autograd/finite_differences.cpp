#include "autograd/finite_differences.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gyre {
namespace {

// Each value of f is taken to be off by so many units in the last place of its outputs. The op table and the small
// presets needed at most 1.5, where the true derivative is zero.
constexpr double kRounding = 16;

}  // namespace

Difference central_difference(const MovableFunction& f, size_t input, int64_t entry, double step) {
  const Tensor& value = f.inputs[input].value;
  const Tensor place = value.reshape({value.size()}).slice(entry, entry + 1);  // its device may be another
  const Tensor middle = place.to_cpu().clone();
  const double x = middle.data<double>()[0], h = step * std::max(1.0, std::abs(x));
  const auto moved = [&](double steps) {
    place.copy_from(Tensor::from<double>({1}, {x + steps * h}));
    return f.evaluate().clone();  // f may hand its input back
  };
  const Tensor up = moved(1), down = moved(-1), up2 = moved(2), down2 = moved(-2);
  place.copy_from(middle);
  // Outputs are subtracted one by one before they are summed: those that the entry does not reach add no rounding
  // error.
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
