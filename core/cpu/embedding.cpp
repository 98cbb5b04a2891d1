// y = factor * table[ids];  dtable[id] += factor * sum of dy over the rows with that id, in the order of the rows.
#include <vector>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::embedding(const Tensor& y, const Tensor& table, const Tensor& ids, double factor) {
  with_data_type(y, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t d = table.cols();
    T* out = y.data<T>();
    const C *rows = table.data<C>(), f = C(factor);
    const int32_t* id = ids.data<int32_t>();
    parallel_ranges(ids.size(), d, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const C* row = rows + int64_t(id[i]) * d;
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) out[i * d + j] = T(f * row[j]);
      }
    });
  });
}

// A counting sort gathers the rows of each id, so that one thread adds them all: no atomics, one order.
void CpuKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& ids, double factor) {
  with_data_type(dy, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t d = dtable.cols(), v = dtable.dim(0), n = ids.size();
    const int32_t* id = ids.data<int32_t>();
    std::vector<int32_t> start(size_t(v) + 1, 0), order(static_cast<size_t>(n)), used;
    for (int64_t i = 0; i < n; ++i) {
      if (start[size_t(id[i]) + 1]++ == 0) used.push_back(id[i]);
    }
    for (size_t k = 0; k < size_t(v); ++k) start[k + 1] += start[k];
    std::vector<int32_t> next(start.begin(), start.end() - 1);
    for (int64_t i = 0; i < n; ++i) order[size_t(next[size_t(id[i])]++)] = int32_t(i);

    C* table = dtable.data<C>();
    const T* g = dy.data<T>();
    const C f = C(factor);
    parallel_ranges(int64_t(used.size()), d * std::max<int64_t>(1, n / std::max<int64_t>(1, int64_t(used.size()))),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t u = begin; u < end; ++u) {
                        const size_t k = size_t(used[size_t(u)]);
                        C* row = table + int64_t(k) * d;
                        for (int32_t s = start[k]; s < start[k + 1]; ++s) {
                          const T* from = g + int64_t(order[size_t(s)]) * d;
#pragma omp simd
                          for (int64_t j = 0; j < d; ++j) row[j] += f * C(from[j]);
                        }
                      }
                    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
