// Sums along a row, faster than one chain of additions.
#pragma once

#include <cstdint>

namespace gyre::GYRE_CPU_NAMESPACE {

// Sum of f(j), j < n: four stretches of the row side by side, so that an addition need not wait for the one before it.
template <class C, class F>
C row_sum(int64_t n, F f) {
  const int64_t stretch = n / 64 * 16;
  C a = 0, b = 0, c = 0, e = 0;
#pragma omp simd reduction(+ : a, b, c, e)
  for (int64_t j = 0; j < stretch; ++j) {
    a += f(j);
    b += f(j + stretch);
    c += f(j + 2 * stretch);
    e += f(j + 3 * stretch);
  }
#pragma omp simd reduction(+ : a)
  for (int64_t j = 4 * stretch; j < n; ++j) a += f(j);
  return (a + b) + (c + e);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
