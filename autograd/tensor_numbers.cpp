#include "autograd/tensor_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/bfloat16.h"
#include "core/error.h"

namespace gyre {
namespace {

// f(span) of the tensor's elements.
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
TensorNumbers numbers_in(std::span<T> all) {
  TensorNumbers n;
  n.least = std::numeric_limits<double>::infinity();
  n.most = -n.least;
  double squares = 0;
  for (const T& number : all) {
    const auto x = double(number);
    n.nan += std::isnan(x) ? 1 : 0;
    n.infinite += std::isinf(x) ? 1 : 0;
    if (!std::isfinite(x)) continue;
    n.least = std::min(n.least, x);
    n.most = std::max(n.most, x);
    squares += x * x;
  }
  n.norm = std::sqrt(squares);
  return n;
}

}  // namespace

TensorNumbers numbers_of(const Tensor& tensor) {
  return with_numbers(tensor, [](auto all) { return numbers_in(all); });
}

bool all_finite(const Tensor& tensor) {
  return with_numbers(tensor, [](auto all) {
    return std::all_of(all.begin(), all.end(), [](auto x) { return std::isfinite(double(x)); });
  });
}

std::string describe_numbers(const Tensor& tensor) { return describe_numbers(tensor.shape(), numbers_of(tensor)); }

std::string describe_numbers(const Shape& shape, const TensorNumbers& n) {
  const std::string range = n.least <= n.most ? concat(" in [", n.least, ", ", n.most, "]") : std::string(" none");
  if (n.finite()) return concat(shape.text(), ", all", range);
  return concat(shape.text(), " with ", n.nan, " NaN and ", n.infinite, " infinite, the others", range);
}

}  // namespace gyre
