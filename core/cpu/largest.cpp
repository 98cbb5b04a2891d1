// The k largest of each row, without sorting it: nearly every block of a row has nothing above the k-th found so far.
#include <limits>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Sorted from the first on; equal numbers in the order of their coming.
struct Best {
  float* values;
  int32_t* columns;
  int64_t k;

  float bar() const { return values[k - 1]; }  // a number must be above it
  void insert(float x, int32_t column) const {
    int64_t place = k - 1;
    for (; place > 0 && values[place - 1] < x; --place) {
      values[place] = values[place - 1];
      columns[place] = columns[place - 1];
    }
    values[place] = x;
    columns[place] = column;
  }
};

void largest_of_row(const Best& best, const float* x, int64_t v) {
  std::fill_n(best.values, best.k, kLowest);
  std::fill_n(best.columns, best.k, -1);
  // The compiler turns the test of a block into a few vector comparisons.
  constexpr int64_t kBlock = 64;
  for (int64_t begin = 0; begin < v; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, v);
    const float bar = best.bar();
    int above = 0;
    for (int64_t j = begin; j < end; ++j) above |= int(x[j] > bar);
    if (!above) continue;
    for (int64_t j = begin; j < end; ++j)
      if (x[j] > best.bar()) best.insert(x[j], int32_t(j));
  }
}

}  // namespace

void CpuKernels::largest(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t also) {
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
