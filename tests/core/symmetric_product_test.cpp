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
  DType type;
  std::vector<double> x, w;  // (n, d), exact in `type`
};

// x w^T is symmetric but for rounding: w = x D with a diagonal D.
Factors factors(int64_t n, int64_t d, DType type) {
  const Tensor x = Tensor::empty({n, d}, DType::f64);
  for (int64_t i = 0; i < n * d; ++i) x.data<double>()[i] = random_normal(1, uint64_t(n), uint64_t(i));
  Factors f{n, d, type, x.to(type).to(DType::f64).to_vector<double>(), {}};
  // Powers of two keep w exact in bf16.
  const double even = type == DType::bf16 ? 2 : 0.3, odd = type == DType::bf16 ? -1 : -1.7;
  const Tensor w = Tensor::empty({n, d}, DType::f64);
  for (int64_t i = 0; i < n * d; ++i) w.data<double>()[i] = f.x[size_t(i)] * (i % d % 2 == 0 ? even : odd);
  f.w = w.to(type).to(DType::f64).to_vector<double>();
  return f;
}

Tensor found_product(Kernels& kernels, const Factors& f) {
  const Tensor y = Tensor::empty({f.n, f.n}, f.type == DType::f64 ? DType::f64 : DType::f32);
  kernels.symmetric_product(y, Tensor::from({f.n, f.d}, f.x).to(f.type), Tensor::from({f.n, f.d}, f.w).to(f.type));
  return y;
}

// The largest difference from sums in f64, in units of d, the size of the sums on the diagonal.
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
  return largest / double(f.d);
}

bool is_symmetric(const Tensor& y) {
  const auto numbers = y.to(DType::f64).to_vector<double>();
  const auto n = size_t(y.rows());
  for (size_t i = 0; i < n * n; ++i) {
    if (numbers[i] != numbers[i % n * n + i / n]) return false;
  }
  return true;
}

// Sizes below, at and above those of tiles and of vectors, and several blocks of the summed index.
const std::vector<std::pair<int64_t, int64_t>> kSymmetricSizes = {
    {0, 3}, {1, 1}, {3, 7}, {31, 5}, {33, 64}, {128, 96}, {129, 129}, {300, 17}, {257, 1}, {70, 1500}, {300, 2100}};

}  // namespace

TEST_CASE("symmetric products are those of loops, with equal bits on both sides of the diagonal") {
  const EmulatedBf16 emulated;
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const auto& [n, d] : kSymmetricSizes) {
      CAPTURE(n);
      CAPTURE(d);
      for (const auto& [type, tolerance] :
           {std::pair(DType::f64, 4e-15), std::pair(DType::f32, 2e-6), std::pair(DType::bf16, 2e-6)}) {
        const Factors f = factors(n, d, type);
        const Tensor y = found_product(*kernels, f);
        CHECK(error(y, f) < tolerance);
        CHECK(is_symmetric(y));
      }
    }
  }
}

TEST_CASE("symmetric products do not depend on the number of threads") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const DType type : {DType::f32, DType::bf16}) {
    const Factors f = factors(300, 170, type);
    std::vector<std::vector<float>> results;
    for (const int n : {1, 3}) {
      const ThreadsInScope scope(n);
      results.push_back(found_product(cpu_kernels(), f).to_vector<float>());
    }
    CHECK(results[0] == results[1]);
  }
}

}  // namespace gyre::test
