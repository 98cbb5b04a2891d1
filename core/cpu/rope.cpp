// Rotary position embedding. With c, s = cos, sin(position * position_scale * frequency_i) and m the magnitude:
//   y1 = m (x1 c - x2 s),  y2 = m (x1 s + x2 c);  backward is the transpose: the same kernel with s negated
//   angle gradient: dtheta = dy2 y1 - dy1 y2, so dfrequency_i = sum of position * position_scale * dtheta
#include <cmath>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/rotation.h"

namespace gyre::GYRE_CPU_NAMESPACE {
void CpuKernels::rotary_angles(const Tensor& angles, const Tensor& frequencies, const RopeShape& rotary) {
  dispatch_float(angles, [&]<class T>(T) {
    const int64_t dims = rotary.dims;
    const RopePairs<T> rotator(rotary, nullptr);
    const std::vector<double> frequency = frequencies.to(DType::f64).to_vector<double>();
    parallel_ranges(angles.rows(), 64 * dims, [&](int64_t begin, int64_t end) {
      for (int64_t position = begin; position < end; ++position) {
        T* row = angles.data<T>() + position * 2 * dims;
        for (int64_t i = 0; i < dims / 2; ++i) {
          const double angle = double(position) * rotary.position_scale * frequency[size_t(i)];
          const T c = T(rotary.magnitude * std::cos(angle)), s = T(rotary.magnitude * std::sin(angle));
          const int64_t first = rotator.first_of_pair(i), second = rotator.second_of_pair(i);
          row[first] = row[second] = c;
          row[dims + first] = -s;
          row[dims + second] = s;
        }
      }
    });
  });
}

void CpuKernels::rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& angles,
                      const RopeShape& rotary, int64_t width, bool inverse) {
  dispatch_data_type(x.rows, [&]<class D>(D) {
    using T = Compute<D>;
    const Rows<D> to = rows_of<D>(y), from = rows_of<D>(x);
    const RopePairs<T> rotator(rotary, angles.data<T>());
    const int32_t* position = positions.data<int32_t>();
    parallel_ranges(x.rows.rows(), rotary.heads * width, [&](int64_t begin, int64_t end) {
      for (int64_t h = 0; h < rotary.heads; ++h) {
        const Rows<D> out = to.block(begin, h * width), in = from.block(begin, h * width);
        if (inverse) {
          rotator.template rotate<true>(out, in, position + begin, end - begin, width);
        } else {
          rotator.template rotate<false>(out, in, position + begin, end - begin, width);
        }
      }
    });
  });
}

void CpuKernels::rope_frequencies_backward(const Tensor& dfrequencies, const Tensor& dy, const Tensor& y,
                                           const Tensor& positions, const RopeShape& rotary) {
  dispatch_data_type(y, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t d = y.cols(), heads = rotary.heads, width = d / heads, half = rotary.dims / 2;
    const RopePairs<T> rotator(rotary, nullptr);
    std::vector<double> sums(size_t(half), 0.0);  // rarely needed and short, so one thread computes it, in double
    for (int64_t i = 0; i < y.rows(); ++i) {
      const double position = positions.data<int32_t>()[i];
      for (int64_t h = 0; h < heads; ++h) {
        const D *out = y.data<D>() + i * d + h * width, *g = dy.data<D>() + i * d + h * width;
        for (int64_t f = 0; f < half; ++f) {
          const int64_t a = rotator.first_of_pair(f), b = rotator.second_of_pair(f);
          sums[size_t(f)] += position * (double(g[b]) * double(out[a]) - double(g[a]) * double(out[b]));
        }
      }
    }
    for (int64_t f = 0; f < half; ++f) dfrequencies.data<T>()[f] += T(rotary.position_scale * sums[size_t(f)]);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
