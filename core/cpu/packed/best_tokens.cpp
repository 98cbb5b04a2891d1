// The best next tokens from the states of a decoder: the output projection, log-softmax and top-k in one pass. A block
// of logits is reduced while it is in the first-level cache: to the largest logits of each row, and to the maximum and
// the sum of exponentials. Blocks do not depend on the number of threads; the largest logits do not depend on blocks.
#include <omp.h>

#include <cmath>
#include <limits>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/largest_columns.h"
#include "gyre/core/cpu/packed/panel_product.h"
#include "gyre/core/cpu/vector_math.h"
#include "gyre/core/memory.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

constexpr int64_t kBlockColumns = 512;
constexpr int64_t kBlockPanels = kBlockColumns / kPanelColumns;

// The maximum of a row's logits in a block, and the sum of exp(logit - maximum).
struct Part {
  float largest, sum;
};

Part part_of(const float* x, int64_t n) {
  float largest = -std::numeric_limits<float>::infinity(), sum = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t j = 0; j < n; ++j) largest = x[j] > largest ? x[j] : largest;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j) sum += exponential(x[j] - largest);
  return {largest, sum};
}

float log_sum_exp(const Part* parts, int64_t blocks) {
  float largest = parts[0].largest, sum = 0;
  for (int64_t b = 1; b < blocks; ++b) largest = std::max(largest, parts[b].largest);
  for (int64_t b = 0; b < blocks; ++b) sum += parts[b].sum * exponential(parts[b].largest - largest);
  return largest + std::log(sum);
}

template <class T>
class BestTokens {
 public:
  BestTokens(const Tensor& x, const PackedWeight& w, int64_t k, int64_t also)
      : x_(x),
        w_(w),
        panels_(x.rows(), w),
        k_(k),
        also_(also),
        threads_(panels_.threads()),
        blocks_((w.rows + kBlockColumns - 1) / kBlockColumns),
        rows_(allocate(size_t(panels_.row_panels * panels_.row_bytes))),
        parts_(size_t(panels_.m * blocks_)),
        also_values_(size_t(panels_.m)),
        values_(size_t(threads_ * panels_.m * k), -std::numeric_limits<float>::infinity()),
        columns_(values_.size(), -1) {}

  void run() {
#pragma omp parallel num_threads(threads_)
    {
#pragma omp for schedule(static)
      for (int64_t r = 0; r < panels_.row_panels; ++r) PanelProduct<T>::pack_rows(row_panel(r), x_, r);
      const int thread = omp_get_thread_num();
#pragma omp for schedule(static)
      for (int64_t b = 0; b < blocks_; ++b)
        for (int64_t r = 0; r < panels_.row_panels; ++r) reduce(thread, b, r);
    }
  }

  // Writes row i of the results.
  void write(float* values, int32_t* columns, int64_t i) {
    const LargestColumns best = largest(0, i);
    for (int t = 1; t < threads_; ++t) {
      const LargestColumns more = largest(t, i);
      for (int64_t j = 0; j < k_; ++j)
        if (more.values[j] > best.threshold()) best.insert(more.values[j], more.columns[j]);
    }
    const float total = log_sum_exp(parts_.data() + i * blocks_, blocks_);
    if (std::isnan(total)) best.clear();
    for (int64_t j = 0; j < k_; ++j) {
      values[j] = best.columns[j] < 0 ? best.values[j] : best.values[j] - total;
      columns[j] = best.columns[j];
    }
    values[k_] = also_values_[size_t(i)] - total;
  }

 private:
  std::byte* row_panel(int64_t r) const { return static_cast<std::byte*>(rows_.get()) + r * panels_.row_bytes; }

  // The largest logits that a thread has found in row i.
  LargestColumns largest(int thread, int64_t i) {
    const int64_t place = (thread * panels_.m + i) * k_;
    return {values_.data() + place, columns_.data() + place, k_};
  }

  // Computes and reduces the logits of a panel of rows in a block of columns.
  void reduce(int thread, int64_t block, int64_t r) {
    alignas(kVectorBytes) float logits[kTileRows * kBlockColumns];
    const int64_t first = block * kBlockColumns, n = std::min(kBlockColumns, panels_.n - first);
    const int64_t begin = block * kBlockPanels, end = std::min(panels_.column_panels, begin + kBlockPanels);
    for (int64_t c = begin; c < end; ++c)
      panels_.multiply(logits + (c - begin) * kPanelColumns, kBlockColumns, row_panel(r), r, w_, c);
    for (int64_t i = 0; i < panels_.rows_of(r); ++i) {
      const float* x = logits + i * kBlockColumns;
      const int64_t row = r * kTileRows + i;
      const Part part = parts_[size_t(row * blocks_ + block)] = part_of(x, n);
      const LargestColumns best = largest(thread, row);
      if (k_ > 0 && part.largest > best.threshold()) best.insert_all(x, n, first);
      if (also_ >= first && also_ < first + n) also_values_[size_t(row)] = x[also_ - first];
    }
  }

  const Tensor& x_;
  const PackedWeight& w_;
  ProductPanels<T> panels_;
  int64_t k_, also_;
  int threads_;
  int64_t blocks_;
  std::shared_ptr<void> rows_;
  std::vector<Part> parts_;         // parts by row and block
  std::vector<float> also_values_;  // values by row
  std::vector<float> values_;       // values by thread, row and rank
  std::vector<int32_t> columns_;
};

}  // namespace

void CpuKernels::packed_best_tokens(const Tensor& values, const Tensor& columns, const Tensor& x, const PackedWeight& w,
                                    int64_t also) {
  const int64_t k = columns.cols();
  dispatch_packed(w, x, [&]<class T>(T) {
    BestTokens<T> best(x, w, k, also);
    best.run();
    for (int64_t i = 0; i < x.rows(); ++i)
      best.write(values.data<float>() + i * (k + 1), columns.data<int32_t>() + i * k, i);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
