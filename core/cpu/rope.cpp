// Rotary position embedding, c, s = cos, sin(position * frequency_i), m the magnitude:
//   y1 = m (x1 c - x2 s),  y2 = m (x1 s + x2 c);  backward is the transpose: the same with the sign of s turned.
//   angle gradient: dtheta = dy2 y1 - dy1 y2, so dfrequency_i = sum of position * dtheta
#include <cmath>
#include <vector>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Where the two features of pair i lie in a head.
struct Pairs {
  int64_t first_stride, second_offset;
  Pairs(const Rotary& r)
      : first_stride(r.pairs == RotaryPairs::interleaved ? 2 : 1),
        second_offset(r.pairs == RotaryPairs::interleaved ? 1 : r.dims / 2) {}
};

// Rows of [cos (dims/2) | sin (dims/2)] for each position from the smallest to the largest; angles in double.
template <class T>
struct AngleTable {
  int64_t half, first = 0;
  std::vector<T> values;

  AngleTable(const int32_t* positions, int64_t n, const T* frequencies, const Rotary& r, double sign)
      : half(r.dims / 2) {
    if (n == 0) return;
    const auto [low, high] = std::minmax_element(positions, positions + n);
    first = *low;
    const int64_t count = *high - first + 1;
    values.resize(size_t(count * 2 * half));
    for (int64_t p = 0; p < count; ++p) {
      T* row = values.data() + p * 2 * half;
      for (int64_t i = 0; i < half; ++i) {
        const double angle = double(first + p) * double(frequencies[i]);
        row[i] = T(r.magnitude * std::cos(angle));
        row[half + i] = T(sign * r.magnitude * std::sin(angle));
      }
    }
  }
  const T* row(int32_t position) const { return values.data() + (position - first) * 2 * half; }
};

template <class T>
void rotate_head(T* y, const T* x, const T* angles, int64_t half, const Pairs& p) {
  const T *cosine = angles, *sine = angles + half;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const int64_t j = i * p.first_stride;
    const T x1 = x[j], x2 = x[j + p.second_offset];
    y[j] = x1 * cosine[i] - x2 * sine[i];
    y[j + p.second_offset] = x1 * sine[i] + x2 * cosine[i];
  }
}

}  // namespace

void CpuKernels::rope(const Tensor& y, const Tensor& x, const Tensor& positions, const Tensor& frequencies,
                      const Rotary& rotary, bool inverse) {
  with_type(x, [&]<class T>(T) {
    const int64_t d = x.cols(), heads = rotary.heads, width = d / heads, rotated = rotary.dims;
    const int32_t* position = positions.data<int32_t>();
    const AngleTable<T> table(position, x.rows(), frequencies.data<T>(), rotary, inverse ? -1 : 1);
    const Pairs pairs(rotary);
    T* out = y.data<T>();
    const T* in = x.data<T>();
    parallel_ranges(x.rows(), d, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* angles = table.row(position[i]);
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t at = i * d + h * width;
          rotate_head(out + at, in + at, angles, table.half, pairs);
          if (out != in) std::copy(in + at + rotated, in + at + width, out + at + rotated);
        }
      }
    });
  });
}

void CpuKernels::rope_frequencies_backward(const Tensor& dfrequencies, const Tensor& dy, const Tensor& y,
                                           const Tensor& positions, const Rotary& rotary) {
  with_type(y, [&]<class T>(T) {
    const int64_t d = y.cols(), heads = rotary.heads, width = d / heads, half = rotary.dims / 2;
    const Pairs pairs(rotary);
    std::vector<double> sums(size_t(half), 0.0);  // few and rarely wanted: one thread, in double
    for (int64_t i = 0; i < y.rows(); ++i) {
      const double position = positions.data<int32_t>()[i];
      for (int64_t h = 0; h < heads; ++h) {
        const T *out = y.data<T>() + i * d + h * width, *g = dy.data<T>() + i * d + h * width;
        for (int64_t f = 0; f < half; ++f) {
          const int64_t a = f * pairs.first_stride, b = a + pairs.second_offset;
          sums[size_t(f)] += position * (double(g[b]) * double(out[a]) - double(g[a]) * double(out[b]));
        }
      }
    }
    for (int64_t f = 0; f < half; ++f) dfrequencies.data<T>()[f] += T(sums[size_t(f)]);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
