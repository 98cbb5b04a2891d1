// QK-clip: scales the rows of the projections to queries and keys by head.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// The factors of all heads: those of the queries, then those of the keys.
std::vector<double> factors_of(const Tensor& largest, const ClippedHeads& clip) {
  const int group = clip.heads / clip.key_heads;
  std::vector<double> logits(size_t(clip.heads), 0), factors(size_t(clip.heads + clip.key_heads), 1);
  for (int64_t part = 0; part < largest.rows(); ++part)
    for (int h = 0; h < clip.heads; ++h)
      logits[size_t(h)] = std::max(logits[size_t(h)], largest.data<double>()[part * clip.heads + h]);
  for (int h = 0; h < clip.heads; ++h) {
    double& key = factors[size_t(clip.heads + h / group)];
    if (logits[size_t(h)] > clip.limit) key = std::min(key, std::sqrt(clip.limit / logits[size_t(h)]));
  }
  for (int h = 0; h < clip.heads; ++h) {
    const double left = logits[size_t(h)] * factors[size_t(clip.heads + h / group)];
    if (left > clip.limit) factors[size_t(h)] = clip.limit / left;
  }
  return factors;
}

}  // namespace

void CpuKernels::clip_heads(const Tensor& x, const Tensor& largest, const Tensor& verdict, const ClippedHeads& clip) {
  if (verdict.data<double>()[kAccepted] == 0) return;
  const std::vector<double> factors = factors_of(largest, clip);
  dispatch_float(x, [&]<class T>(T) {
    const int64_t d = x.cols(), width = clip.width;
    T* const all = x.data<T>();
    parallel_ranges(int64_t(factors.size()) * width, d, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T factor = T(factors[size_t(row / width)]);
        if (factor == 1) continue;
#pragma omp simd
        for (int64_t i = row * d; i < (row + 1) * d; ++i) all[i] *= factor;
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
