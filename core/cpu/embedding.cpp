// y = factor * table[ids], zeros for an id of -1;  dtable[id] += factor * sum of dy over the rows with that id, in the
// order of the rows.
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class T, class P>
void gather(T* y, const P* table, const int32_t* ids, int64_t n, int64_t d, Compute<T> factor) {
  parallel_ranges(n, d, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (ids[i] < 0) {
        std::fill_n(y + i * d, d, T{});
        continue;
      }
      const P* row = table + int64_t(ids[i]) * d;
#pragma omp simd
      for (int64_t j = 0; j < d; ++j) y[i * d + j] = factor * Compute<T>(row[j]);
    }
  });
}

// Rows of a batch, sorted by id (counting sort). One thread adds all rows of an id in order, so that no atomics are
// needed and the result is deterministic.
struct RowsById {
  std::vector<int32_t> start, rows, used;  // rows of id k: rows[start[k]] .. rows[start[k + 1] - 1]; used: distinct ids

  RowsById(const int32_t* ids, int64_t n, int64_t v) : start(size_t(v) + 1, 0), rows(static_cast<size_t>(n)) {
    for (int64_t i = 0; i < n; ++i) {
      if (ids[i] >= 0 && start[size_t(ids[i]) + 1]++ == 0) used.push_back(ids[i]);
    }
    for (size_t k = 0; k < size_t(v); ++k) start[k + 1] += start[k];
    std::vector<int32_t> next(start.begin(), start.end() - 1);
    for (int64_t i = 0; i < n; ++i) {
      if (ids[i] >= 0) rows[size_t(next[size_t(ids[i])]++)] = int32_t(i);
    }
  }
};

template <class T, class P>
void scatter(P* dtable, const T* dy, const RowsById& by_id, int64_t d, Compute<T> factor) {
  const auto used = int64_t(by_id.used.size());
  const int64_t rows_per_id = std::max<int64_t>(1, int64_t(by_id.rows.size()) / std::max<int64_t>(1, used));
  using C = Compute<T>;
  constexpr bool rounds = !std::is_same_v<P, Compute<P>>;  // a bf16 row is rounded once, after all its sums
  parallel_ranges(used, d * rows_per_id, [&](int64_t begin, int64_t end) {
    std::vector<C> sums(rounds ? size_t(d) : 0);
    for (int64_t u = begin; u < end; ++u) {
      const auto k = size_t(by_id.used[size_t(u)]);
      P* const row = dtable + int64_t(k) * d;
      const auto add_rows = [&](auto* to) {
        for (int32_t s = by_id.start[k]; s < by_id.start[k + 1]; ++s) {
          const T* from = dy + int64_t(by_id.rows[size_t(s)]) * d;
#pragma omp simd
          for (int64_t j = 0; j < d; ++j) to[j] = C(to[j]) + factor * C(from[j]);
        }
      };
      if constexpr (rounds) {
        for (int64_t j = 0; j < d; ++j) sums[size_t(j)] = C(row[j]);
        add_rows(sums.data());
        for (int64_t j = 0; j < d; ++j) row[j] = P(sums[size_t(j)]);
      } else {
        add_rows(row);
      }
    }
  });
}

}  // namespace

// The table may be a parameter, or data from which rows are gathered.
void CpuKernels::embedding(const Tensor& y, const Tensor& table, const Tensor& ids, double factor) {
  dispatch_data_type(y, [&]<class T>(T) {
    dispatch_data_type(table, [&]<class P>(P) {
      gather(y.data<T>(), table.data<P>(), ids.data<int32_t>(), ids.size(), table.cols(), Compute<T>(factor));
    });
  });
}

void CpuKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& ids, double factor) {
  const RowsById by_id(ids.data<int32_t>(), ids.size(), dtable.dim(0));
  dispatch_data_type(dy, [&]<class T>(T) {
    dispatch_data_type(
        dtable, [&]<class P>(P) { scatter(dtable.data<P>(), dy.data<T>(), by_id, dtable.cols(), Compute<T>(factor)); });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
