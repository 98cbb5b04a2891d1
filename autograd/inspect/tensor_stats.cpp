#include "gyre/autograd/inspect/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/bfloat16.h"
#include "gyre/core/error.h"

namespace gyre {
namespace {

// Calls f with a span of the tensor's elements.
template <class F>
auto with_numbers(const Tensor& tensor, F&& f) {
  const Tensor t = tensor.to_cpu();
  switch (t.dtype()) {
    case DType::f32:
      return f(t.span<float>());
    case DType::f64:
      return f(t.span<double>());
    case DType::bf16:
      return f(t.span<bfloat16>());
    case DType::i32:
      break;
  }
  return f(t.span<int32_t>());
}

template <class T>
TensorStats numbers_in(std::span<T> all) {
  TensorStats n;
  n.min = std::numeric_limits<double>::infinity();
  n.max = -n.min;
  double squares = 0;
  for (const T& number : all) {
    const auto x = double(number);
    n.nan += std::isnan(x) ? 1 : 0;
    n.infinite += std::isinf(x) ? 1 : 0;
    if (!std::isfinite(x)) continue;
    n.min = std::min(n.min, x);
    n.max = std::max(n.max, x);
    squares += x * x;
  }
  n.norm = std::sqrt(squares);
  return n;
}

}  // namespace

TensorStats compute_stats(const Tensor& tensor) {
  return with_numbers(tensor, [](auto all) { return numbers_in(all); });
}

bool all_finite(const Tensor& tensor) {
  return with_numbers(tensor, [](auto all) {
    return std::all_of(all.begin(), all.end(), [](auto x) { return std::isfinite(double(x)); });
  });
}

std::string describe_stats(const Tensor& tensor) { return describe_stats(tensor.shape(), compute_stats(tensor)); }

std::string describe_stats(const Shape& shape, const TensorStats& n) {
  const std::string range = n.min <= n.max ? concat(" in [", n.min, ", ", n.max, "]") : std::string(" none");
  if (n.finite()) return concat(shape, ", all", range);
  return concat(shape, " with ", n.nan, " NaN and ", n.infinite, " infinite, the others", range);
}

}  // namespace gyre
