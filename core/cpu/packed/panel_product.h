// Products of panels by the type of the operands, T: float, bfloat16 or int8_t.
#pragma once

#include <cstddef>

#include "gyre/core/cpu/gemm/linear.h"
#include "gyre/core/cpu/packed/int8_tile.h"
#include "gyre/core/hardware/cpu.h"

namespace gyre::GYRE_CPU_NAMESPACE {

constexpr int64_t kPanelColumns = kTileColumns<float>;

// Products of f32 and bf16 numbers, with the panels of gemm(). A sum runs over the summed index in order, as there.
template <class T>
struct PanelProduct {
  using Data = T;  // the type of x

  static int64_t elements(int64_t k) { return RegisterTile<T>::packed(k); }
  static int64_t row_bytes(int64_t k) { return round_up(kTileRows * elements(k) * 4, 64); }
  static int64_t column_bytes(int64_t k) { return kPanelColumns * elements(k) * 4; }

  static void pack_rows(std::byte* to, const Tensor& x, int64_t panel) {
    RegisterTile<T>::pack_rows(reinterpret_cast<Packed<T>*>(to), rows(x), x.rows(), panel, 1, 0, x.cols());
  }
  static void pack_columns(std::byte* to, const Tensor& w, int64_t panel) {
    RegisterTile<T>::pack_columns(reinterpret_cast<Packed<T>*>(to), rows(w), w.rows(), panel, 1, 0, w.cols());
  }
  static void multiply(float* c, int64_t ldc, int64_t rows, int64_t columns, std::byte* a, std::byte* b, int64_t k) {
    RegisterTile<T>::multiply(c, ldc, rows, columns, reinterpret_cast<const Packed<T>*>(a),
                              reinterpret_cast<const Packed<T>*>(b), elements(k), false);
  }
};

template <>
struct PanelProduct<int8_t> {
  using Data = float;

  static int64_t row_bytes(int64_t k) { return Int8Rows::bytes(k); }
  static int64_t column_bytes(int64_t k) { return Int8Columns::bytes(k); }

  static void pack_rows(std::byte* to, const Tensor& x, int64_t panel) {
    pack_int8_rows(Int8Rows(to), x.data<float>(), x.rows(), x.cols(), panel * kTileRows);
  }
  static void pack_columns(std::byte* to, const Tensor& w, int64_t panel) {
    pack_int8_columns(Int8Columns(to), w.data<float>(), w.rows(), w.cols(), panel * kPanelColumns);
  }
  static void multiply(float* c, int64_t ldc, int64_t rows, int64_t columns, std::byte* a, std::byte* b, int64_t k) {
    multiply_int8_panels(c, ldc, rows, columns, Int8Rows(a), Int8Columns(b), int8_groups(k));
  }
};

// Calls f(T{}) with the type of the operands.
template <class F>
void dispatch_packed(const PackedWeight& w, const Tensor& x, F&& f) {
  require(x.cols() == w.columns, "[packed product] expected rows of ", w.columns, " numbers, got ", x.cols());
  if (w.precision == Precision::int8) return f(int8_t{});
  if (w.precision == Precision::fp32) return f(float{});
  require(runs_bf16(), "[cpu kernels] bf16 needs a CPU with ", bf16_extension());
  f(bfloat16{});
}

// The panels of a product's operands and the places of their rows and columns.
template <class T>
struct ProductPanels {
  int64_t m, n, k, row_panels, column_panels, row_bytes, column_bytes;

  ProductPanels(int64_t rows, const PackedWeight& w)
      : m(rows),
        n(w.rows),
        k(w.columns),
        row_panels((m + kTileRows - 1) / kTileRows),
        column_panels((n + kPanelColumns - 1) / kPanelColumns),
        row_bytes(PanelProduct<T>::row_bytes(k)),
        column_bytes(PanelProduct<T>::column_bytes(k)) {}

  int64_t rows_of(int64_t panel) const { return std::min<int64_t>(kTileRows, m - panel * kTileRows); }
  int64_t columns_of(int64_t panel) const { return std::min(kPanelColumns, n - panel * kPanelColumns); }
  int threads() const {
    constexpr int64_t kWorthThreads = 1 << 18;  // multiply-adds
    return m * n * k > kWorthThreads && !omp_in_parallel() ? omp_get_max_threads() : 1;
  }
  // c = the product of a packed panel of rows and one of the weight's
  void multiply(float* c, int64_t ldc, std::byte* a, int64_t row_panel, const PackedWeight& w,
                int64_t column_panel) const {
    PanelProduct<T>::multiply(c, ldc, rows_of(row_panel), columns_of(column_panel), a,
                              static_cast<std::byte*>(w.panels.get()) + column_panel * column_bytes, k);
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
