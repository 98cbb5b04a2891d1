// Dispatch from a tensor's dtype to the C++ element type.
#pragma once

#include "gyre/core/tensor.h"

namespace gyre {

// Calls f(T{}), where T is the element type, float or double, and returns its result. Throws Error for other dtypes.
//   dispatch_float(x, [&]<class T>(T) { for (T& number : x.span<T>()) number *= 2; });
template <class F>
auto dispatch_float(const Tensor& t, F&& f) {
  if (t.dtype() == DType::f32) return f(float{});
  require(t.dtype() == DType::f64, "[dtype] expected f32 or f64, got ", t.dtype());
  return f(double{});
}

}  // namespace gyre
