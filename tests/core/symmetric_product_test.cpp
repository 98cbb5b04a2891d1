// Products that are symmetric, of which CPUs compute the lower triangle.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/random.h"
#include "tests/emulated_bf16.h"
#include "tests/threads_in_scope.h"

namespace gyre::test {
namespace {

struct Factors {
  int64_t n, d;
  std::vector<double> x, w;  // (n, d)
};

// x w^T is symmetric for w = x D with a diagonal D. All numbers are exact in bf16.
Factors factors(int64_t n, int64_t d) {
  Factors f{n, d, {}, {}};
  for (int64_t i = 0; i < n * d; ++i) {
    f.x.push_back(double(random_u32(1, uint64_t(n), uint64_t(i)) % 17) / 8 - 1);
    f.w.push_back(f.x.back() * (i % d % 2 == 0 ? 2 : -1));
  }
  return f;
}

Tensor found_product(Kernels& kernels, const Factors& f, DType type) {
  const Tensor y = Tensor::empty({f.n, f.n}, type == DType::f64 ? DType::f64 : DType::f32);
  kernels.symmetric_product(y, Tensor::from({f.n, f.d}, f.x).to(type), Tensor::from({f.n, f.d}, f.w).to(type));
  return y;
}

// The largest difference from sums in f64, in units of sqrt(d).
double error(const Tensor& found, const Factors& f) {
  const auto y = found.to(DType::f64).to_vector<double>();
  double largest = 0;
  for (int64_t i = 0; i < f.n; ++i) {
    for (int64_t j = 0; j < f.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < f.d; ++k) sum += f.x[size_t(i * f.d + k)] * f.w[size_t(j * f.d + k)];
      const double difference = std::abs(y[size_t(i * f.n + j)] - sum);
      if (!(difference <= largest)) largest = difference;
    }
  }
  return largest / std::sqrt(double(f.d));
}

bool is_symmetric(const Tensor& y) {
  const auto numbers = y.to(DType::f64).to_vector<double>();
  const auto n = size_t(y.rows());
  for (size_t i = 0; i < n * n; ++i) {
    if (numbers[i] != numbers[i % n * n + i / n]) return false;
  }
  return true;
}

// The lower triangle is computed in tiles of registers, and copied in blocks of 32 rows.
const std::vector<std::pair<int64_t, int64_t>> kSizes = {{1, 1},    {3, 7},     {31, 5},   {33, 64},
                                                         {128, 96}, {129, 129}, {300, 17}, {257, 1}};

}  // namespace

TEST_CASE("symmetric products are those of loops, with equal bits on both sides of the diagonal") {
  const EmulatedBf16 emulated;
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const auto& [n, d] : kSizes) {
      CAPTURE(n);
      CAPTURE(d);
      const Factors f = factors(n, d);
      for (const auto& [type, tolerance] :
           {std::pair(DType::f64, 1e-13), std::pair(DType::f32, 1e-5), std::pair(DType::bf16, 1e-5)}) {
        const Tensor y = found_product(*kernels, f, type);
        CHECK(error(y, f) < tolerance);
        CHECK(is_symmetric(y));
      }
    }
  }
}

TEST_CASE("symmetric products do not depend on the number of threads") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const Factors f = factors(300, 170);
  for (const DType type : {DType::f32, DType::bf16}) {
    std::vector<std::vector<float>> results;
    for (const int n : {1, 3}) {
      const ThreadsInScope scope(n);
      results.push_back(found_product(cpu_kernels(), f, type).to_vector<float>());
    }
    CHECK(results[0] == results[1]);
  }
}

}  // namespace gyre::test
