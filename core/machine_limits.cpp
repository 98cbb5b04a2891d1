#include "core/machine_limits.h"

#include <cblas.h>
#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "core/error.h"

namespace gyre {
namespace {

// The number of threads of OpenBLAS and of OpenMP, for the life of the object. OpenBLAS's call sets both, and its
// products wait for ever where OpenMP then gives fewer: OMP_THREAD_LIMIT and OMP_DYNAMIC do.
class ThreadsOfBoth {
 public:
  explicit ThreadsOfBoth(int threads) {
    omp_set_dynamic(false);
    openblas_set_num_threads(std::min(threads, omp_get_thread_limit()));
  }
  ~ThreadsOfBoth() {
    openblas_set_num_threads(blas_before_);
    omp_set_num_threads(omp_before_);
    omp_set_dynamic(dynamic_before_);
  }
  ThreadsOfBoth(const ThreadsOfBoth&) = delete;
  ThreadsOfBoth& operator=(const ThreadsOfBoth&) = delete;

 private:
  int blas_before_ = openblas_get_num_threads(), omp_before_ = omp_get_max_threads();
  int dynamic_before_ = omp_get_dynamic();
};

// Amount per second of the fastest of three runs after the first.
template <class F>
double best_rate(double amount, const F& run) {
  run();
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, amount / taken.count());
  }
  return best;
}

double sgemm_rate(blasint m, blasint n, blasint k) {
  const auto matrix = [](int64_t rows, int64_t cols) {
    auto numbers = std::make_unique_for_overwrite<float[]>(size_t(rows * cols));
    std::fill_n(numbers.get(), rows * cols, 0.5f);
    return numbers;
  };
  const auto a = matrix(m, k), b = matrix(k, n), c = matrix(m, n);
  return best_rate(2.0 * m * n * k, [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a.get(), k, b.get(), n, 0.0f, c.get(), n);
  });
}

constexpr int64_t kDotRounds = int64_t{1} << 24;
constexpr int kDotSums = 16;  // enough to hide the latency of one instruction behind the others
constexpr double kDotFlops = 2.0 * 32;

[[gnu::target("avx512f,avx512bf16")]] float multiply_in_registers() {
  __m512 sums[kDotSums] = {};
  __m512i numbers = _mm512_set1_epi32(0x3F003F00);  // pairs of 0.5
  for (int64_t round = 0; round < kDotRounds; ++round) {
    asm volatile("" : "+v"(numbers));  // a number that the compiler does not know
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, (__m512bh)numbers, (__m512bh)numbers);
  }
  __m512 total = sums[0];
  for (int i = 1; i < kDotSums; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

double bf16_rate(int threads) {
  require(__builtin_cpu_supports("avx512bf16"), "[machine limits] this CPU lacks AVX512-BF16");
  return best_rate(double(threads) * kDotRounds * kDotSums * kDotFlops, [&] {
#pragma omp parallel num_threads(threads)
    {
      volatile float kept = multiply_in_registers();
      (void)kept;
    }
  });
}

}  // namespace

double measure_products(Precision precision, int threads) {
  const ThreadsOfBoth scope(threads);
  if (precision == Precision::bf16) return bf16_rate(threads);
  return std::max(sgemm_rate(2048, 2048, 2048), sgemm_rate(4096, 4096, 1024));
}

double measure_memory_bandwidth(int threads) {
  constexpr int64_t kNumbers = 1 << 23;  // 64 MiB an array
  const ThreadsOfBoth scope(threads);
  const auto array = [] { return std::make_unique_for_overwrite<double[]>(size_t(kNumbers)); };
  const auto a = array(), b = array(), c = array();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < kNumbers; ++i) {  // a page lies near the thread that touches it first
    a[size_t(i)] = 0;
    b[size_t(i)] = 1;
    c[size_t(i)] = 2;
  }
  return best_rate(3.0 * sizeof(double) * kNumbers, [&] {
    double *to = a.get(), *x = b.get(), *y = c.get();
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < kNumbers; ++i) to[i] = x[i] + 3.0 * y[i];
  });
}

}  // namespace gyre
