// The k largest values of each row, without sorting the row. Most blocks are skipped, because they contain no value
// above the k-th largest so far.
#include <limits>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The k largest values so far, in descending order; equal values in the order of insertion.
struct Best {
  float* values;
  int32_t* columns;
  int64_t k;

  float threshold() const { return values[k - 1]; }  // only values above it are inserted
  void insert(float x, int32_t column) const {
    int64_t slot = k - 1;
    for (; slot > 0 && values[slot - 1] < x; --slot) {
      values[slot] = values[slot - 1];
      columns[slot] = columns[slot - 1];
    }
    values[slot] = x;
    columns[slot] = column;
  }
};

void largest_of_row(const Best& best, const float* x, int64_t v) {
  std::fill_n(best.values, best.k, kLowest);
  std::fill_n(best.columns, best.k, -1);
  // The compiler vectorizes the test of a block into a few comparisons.
  constexpr int64_t kBlock = 64;
  for (int64_t begin = 0; begin < v; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, v);
    const float threshold = best.threshold();
    int above = 0;
    for (int64_t j = begin; j < end; ++j) above |= int(x[j] > threshold);
    if (!above) continue;
    for (int64_t j = begin; j < end; ++j)
      if (x[j] > best.threshold()) best.insert(x[j], int32_t(j));
  }
}

}  // namespace

void CpuKernels::topk(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t also) {
  const int64_t v = x.cols(), k = columns.cols();
  const float* in = x.data<float>();
  parallel_ranges(x.rows(), v, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = values.data<float>() + i * (k + 1);
      if (k > 0) largest_of_row({row, columns.data<int32_t>() + i * k, k}, in + i * v, v);
      row[k] = in[i * v + also];
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
