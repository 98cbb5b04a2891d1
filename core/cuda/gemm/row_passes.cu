#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/gemm/row_passes.h"

namespace gyre::cuda {
namespace {

// Stores the biased rows.
template <class T>
struct BiasedRows {
  T* data;
  const T* bias;
  int64_t stride;
  bool aligned, bias_aligned, relu;

  __device__ void take(Compute<T> (&numbers)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    T* at = data + row * stride + column;
    Compute<T> added[kPackSize<T>];
    load_numbers(numbers, at, count, aligned);
    load_numbers(added, bias + column, count, bias_aligned);
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) {
      numbers[i] += added[i];
      if (relu) numbers[i] = Relu::value(numbers[i]);
    }
    store_numbers(at, numbers, count, aligned);
  }
};

template <class T>
struct PlainRows {
  const T* data;
  int64_t stride;
  bool aligned;

  __device__ void take(Compute<T> (&numbers)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    load_numbers(numbers, data + row * stride + column, count, aligned);
  }
};

}  // namespace

void add_bias(Context& context, const Tensor& c, const Tensor& bias, bool relu) {
  dispatch_data_type(c, [&]<class T>(T) {
    T* data = c.data<T>();
    const bool aligned = has_aligned_rows(data, c.cols());
    const BiasedRows<T> rows{data, bias.data<T>(), c.cols(), aligned, all_aligned(bias), relu};
    add_column_sums<T>(context, {}, c.rows(), bias.size(), rows);
  });
}

void add_row_sums(Context& context, const Tensor& sums, const Tensor& t) {
  dispatch_data_type(t, [&]<class T>(T) {
    const PlainRows<T> rows{t.data<T>(), t.cols(), has_aligned_rows(t.data<T>(), t.cols())};
    add_column_sums<T>(context, sums, t.rows(), sums.size(), rows);
  });
}

}  // namespace gyre::cuda
