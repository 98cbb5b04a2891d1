// y = softmax(x) over the columns;  dx = y (dy - y . dy)
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"
#include "gyre/core/cpu/strips.h"
#include "gyre/core/cpu/vector_math.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Calls f(index of the first element) for each row, in parallel.
template <class F>
void for_each_row(const Tensor& x, const F& f) {
  const int64_t width = x.cols();
  parallel_ranges(x.rows(), width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i * width);
  });
}

// Rows that are narrower than a vector: their exponentials are computed in strips of many rows.
template <class T, class D>
void softmax_of_narrow_rows(D* y, const D* x, int64_t n, int64_t width) {
  const Strips strips(n, width);
  parallel_ranges(strips.count(), kStripSize, [&](int64_t begin, int64_t end) {
    alignas(kVectorBytes) Buffer<T> numbers;
    for (int64_t s = begin; s < end; ++s) {
      const Strip strip = strips.at(s);
      const int64_t size = strip.size();
      const D* in = x + strips.first_element(strip);
      D* out = y + strips.first_element(strip);
      for (int64_t first = 0; first < size; first += width) {
        T largest = in[first];
        for (int64_t f = 1; f < width; ++f) largest = std::max(largest, T(in[first + f]));
        for (int64_t f = 0; f < width; ++f) numbers[first + f] = T(in[first + f]) - largest;
      }
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) numbers[i] = exponential(numbers[i]);
      for (int64_t first = 0; first < size; first += width) {
        T sum = 0;
        for (int64_t f = 0; f < width; ++f) sum += numbers[first + f];
        const T inverse = 1 / sum;
        for (int64_t f = 0; f < width; ++f) out[first + f] = numbers[first + f] * inverse;
      }
    }
  });
}

}  // namespace

void CpuKernels::softmax(const Tensor& y, const Tensor& x) {
  dispatch_data_type(x, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t width = x.cols();
    if (width < kLanes<T>) return softmax_of_narrow_rows<T>(y.data<D>(), x.data<D>(), x.rows(), width);
    for_each_row(x, [&](int64_t first) {
      const D* in = x.data<D>() + first;
      D* out = y.data<D>() + first;
      T largest = in[0], sum = 0;
#pragma omp simd reduction(max : largest)
      for (int64_t f = 1; f < width; ++f) largest = std::max(largest, T(in[f]));
#pragma omp simd reduction(+ : sum)
      for (int64_t f = 0; f < width; ++f) sum += exponential(T(in[f]) - largest);
      const T inverse = 1 / sum;
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) out[f] = exponential(T(in[f]) - largest) * inverse;
    });
  });
}

void CpuKernels::softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) {
  dispatch_data_type(y, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t width = y.cols();
    for_each_row(y, [&](int64_t first) {
      const D *out = y.data<D>() + first, *g = dy.data<D>() + first;
      D* to = dx.data<D>() + first;
      T dot = 0;
#pragma omp simd reduction(+ : dot)
      for (int64_t f = 0; f < width; ++f) dot += T(out[f]) * T(g[f]);
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) to[f] = T(out[f]) * (T(g[f]) - dot);
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
