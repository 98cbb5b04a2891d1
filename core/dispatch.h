// From the type of a tensor's elements to a type of C++.
#pragma once

#include "core/tensor.h"

namespace gyre {

// Calls f(T{}), where T is the type of the elements, float or double, and returns what f does:
//   with_type(x, [&]<class T>(T) { for (T& number : x.span<T>()) number *= 2; });
template <class F>
auto with_type(const Tensor& t, F&& f) {
  if (t.dtype() == DType::f32) return f(float{});
  require(t.dtype() == DType::f64, "[dtype] expected f32 or f64, got ", dtype_name(t.dtype()));
  return f(double{});
}

}  // namespace gyre
