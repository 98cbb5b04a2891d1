// y = act(x w^T + bias) with a packed weight. If there are many rows, each thread packs its own and multiplies them by
// all columns, without a barrier. Otherwise all threads pack the rows, then each multiplies them by its columns.
#include <omp.h>

#include "gyre/core/cpu/activation_strips.h"
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/packed/panel_product.h"
#include "gyre/core/memory.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Bytes of packed rows that stay in the second-level cache beside a panel of columns.
constexpr int64_t kRowBytes = int64_t{1} << 18;

// Writes a tile of y, of type Out, from its sums.
template <class Out>
struct TileOutput {
  Out* y;
  int64_t stride;
  const float* bias;
  std::optional<Activation> activation;

  void operator()(const float* sums, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    for (int64_t i = 0; i < rows; ++i, sums += kPanelColumns) {
      alignas(kVectorBytes) float numbers[kPanelColumns];
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) numbers[j] = bias ? sums[j] + bias[column + j] : sums[j];
      if (activation) activate_strip(numbers, numbers, columns, *activation);
      Out* to = y + (row + i) * stride + column;
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) to[j] = numbers[j];
    }
  }
};

template <class T, class Output>
class PackedProduct {
 public:
  PackedProduct(const Tensor& x, const PackedWeight& w, const Output& output)
      : x_(x), w_(w), output_(output), panels_(x.rows(), w), threads_(panels_.threads()) {}

  void run() const { panels_.row_panels >= 2 * threads_ ? run_rows() : run_columns(); }

 private:
  void run_rows() const {
    const int64_t panels = panels_.row_panels, most = std::max<int64_t>(1, kRowBytes / panels_.row_bytes);
    // The same number of chunks for every thread, of nearly equal size.
    const int64_t wanted = (panels + threads_ * most - 1) / (threads_ * most) * threads_;
    const int64_t chunk = (panels + wanted - 1) / wanted, chunks = (panels + chunk - 1) / chunk;
    const auto place = allocate(size_t(threads_ * chunk * panels_.row_bytes));
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (int64_t c = 0; c < chunks; ++c) {
      std::byte* mine = static_cast<std::byte*>(place.get()) + omp_get_thread_num() * chunk * panels_.row_bytes;
      const int64_t begin = c * chunk, end = std::min(panels, begin + chunk);
      for (int64_t r = begin; r < end; ++r) pack(mine + (r - begin) * panels_.row_bytes, r);
      for (int64_t column = 0; column < panels_.column_panels; ++column)
        for (int64_t r = begin; r < end; ++r) tile(mine + (r - begin) * panels_.row_bytes, r, column);
    }
  }

  void run_columns() const {
    const auto place = allocate(size_t(panels_.row_panels * panels_.row_bytes));
    auto* rows = static_cast<std::byte*>(place.get());
#pragma omp parallel num_threads(threads_)
    {
#pragma omp for schedule(static)
      for (int64_t r = 0; r < panels_.row_panels; ++r) pack(rows + r * panels_.row_bytes, r);
#pragma omp for schedule(static)
      for (int64_t column = 0; column < panels_.column_panels; ++column)
        for (int64_t r = 0; r < panels_.row_panels; ++r) tile(rows + r * panels_.row_bytes, r, column);
    }
  }

  void pack(std::byte* to, int64_t panel) const { PanelProduct<T>::pack_rows(to, x_, panel); }

  void tile(std::byte* rows, int64_t row_panel, int64_t column_panel) const {
    alignas(kVectorBytes) float sums[kTileRows * kPanelColumns];
    panels_.multiply(sums, kPanelColumns, rows, row_panel, w_, column_panel);
    output_(sums, row_panel * kTileRows, panels_.rows_of(row_panel), column_panel * kPanelColumns,
            panels_.columns_of(column_panel));
  }

  const Tensor& x_;
  const PackedWeight& w_;
  const Output& output_;
  ProductPanels<T> panels_;
  int threads_;
};

template <class T, class Out>
void run_product(const Tensor& y, const Tensor& x, const PackedWeight& w, const Tensor& bias,
                 std::optional<Activation> activation) {
  const TileOutput<Out> output{y.data<Out>(), w.rows, data_or_null<float>(bias), activation};
  PackedProduct<T, TileOutput<Out>>(x, w, output).run();
}

template <class T>
PackedWeight packed(const Tensor& w, Precision precision) {
  PackedWeight result{precision, w.dim(0), w.dim(1), nullptr};
  const ProductPanels<T> panels(0, result);
  result.panels = allocate(size_t(panels.column_panels * panels.column_bytes));
  auto* to = static_cast<std::byte*>(result.panels.get());
#pragma omp parallel for schedule(static)
  for (int64_t panel = 0; panel < panels.column_panels; ++panel)
    PanelProduct<T>::pack_columns(to + panel * panels.column_bytes, w, panel);
  return result;
}

}  // namespace

PackedWeight CpuKernels::pack_weight(const Tensor& w, Precision precision) {
  require(w.shape().rank() == 2 && w.dtype() == DType::f32, "[packed weight] expected f32 (o,d), got ", w.dtype(), " ",
          w.shape());
  if (precision == Precision::fp32) return packed<float>(w, precision);
  if (precision == Precision::bf16) return packed<bfloat16>(w, precision);
  require(precision == Precision::int8, "[packed weight] expected fp32, bf16 or int8");
  require(w.dim(1) <= kMostInt8Products, "[packed weight] expected at most ", kMostInt8Products,
          " columns for int8, got ", w.dim(1));
  return packed<int8_t>(w, precision);
}

void CpuKernels::packed_linear(const Tensor& y, const Tensor& x, const PackedWeight& w, const Tensor& bias,
                               std::optional<Activation> activation) {
  if (x.rows() == 0 || w.rows == 0) return;
  dispatch_packed(w, x, [&]<class T>(T) {
    if (y.dtype() == DType::f32) return run_product<T, float>(y, x, w, bias, activation);
    if constexpr (std::is_same_v<T, bfloat16>) run_product<T, bfloat16>(y, x, w, bias, activation);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
