// Values and gradients for tests of optimizers: sines, as in tests/train/golden/make_optimizers.py.
#pragma once

#include <cmath>
#include <cstdint>

#include "gyre/autograd/parameters.h"

namespace gyre::test {

// Sets every element i of an f32 or f64 tensor to f(i).
template <class F>
void fill(const Tensor& t, F&& f) {
  for (int64_t i = 0; i < t.size(); ++i) {
    if (t.dtype() == DType::f64) {
      t.data<double>()[i] = f(i);
    } else {
      t.data<float>()[i] = static_cast<float>(f(i));
    }
  }
}

inline double at(const Tensor& t, int64_t i) {
  return t.dtype() == DType::f64 ? t.data<double>()[i] : t.data<float>()[i];
}

inline void set_values(Parameters& parameters) {
  int k = 0;
  for (Parameter& p : parameters) {
    fill(p.value, [&](int64_t i) { return std::sin(0.7 * static_cast<double>(i) + k); });
    ++k;
  }
}

inline void set_gradients(Parameters& parameters, int step) {
  int k = 0;
  for (Parameter& p : parameters) {
    fill(p.gradient,
         [&](int64_t i) { return std::sin(0.7 * static_cast<double>(i) + 10 * step + 3 * k) * (step + 1); });
    ++k;
  }
}

}  // namespace gyre::test
