// Rotary position embedding outside of attention.
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/rotation.h"

namespace gyre::GYRE_CPU_NAMESPACE {
void CpuKernels::rotary_angles(const Tensor& angles, const Tensor& frequencies, const RopeShape& rotary) {
  dispatch_float(angles, [&]<class T>(T) {
    const std::vector<double> frequency = frequencies.to(DType::f64).to_vector<double>();
    parallel_ranges(angles.rows(), 64 * int64_t(rotary.dims), [&](int64_t begin, int64_t end) {
      for (int64_t position = begin; position < end; ++position) {
        T* row = angles.data<T>() + position * 2 * rotary.dims;
        for (int64_t i = 0; i < rotary.dims / 2; ++i)
          set_rotary_factors(row, rotary, i, position, frequency[size_t(i)]);
      }
    });
  });
}

void CpuKernels::rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& angles,
                      const RopeShape& rotary, int64_t width, bool inverse) {
  dispatch_data_type(x.rows, [&]<class D>(D) {
    using T = Compute<D>;
    const Rows<D> to = rows_of<D>(y), from = rows_of<D>(x);
    const RopeRows<T> rows(rotary, angles, positions);
    parallel_ranges(x.rows.rows(), rotary.heads * width, [&](int64_t begin, int64_t end) {
      for (int64_t h = 0; h < rotary.heads; ++h) {
        const Rows<D> out = to.block(begin, h * width), in = from.block(begin, h * width);
        if (inverse) {
          rows.template rotate<true>(out, in, begin, end - begin, width);
        } else {
          rows.template rotate<false>(out, in, begin, end - begin, width);
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
    std::vector<double> sums(size_t(half), 0.0);  // rarely needed and short, so one thread computes it, in double
    for (int64_t i = 0; i < y.rows(); ++i) {
      const double position = positions.data<int32_t>()[i];
      for (int64_t h = 0; h < heads; ++h) {
        const D *out = y.data<D>() + i * d + h * width, *g = dy.data<D>() + i * d + h * width;
        for (int64_t f = 0; f < half; ++f) {
          const int64_t a = rotary.first_of_pair(f), b = rotary.partner(a);
          sums[size_t(f)] += position * angle_gradient(g[a], g[b], out[a], out[b]);
        }
      }
    }
    for (int64_t f = 0; f < half; ++f) dfrequencies.data<T>()[f] += T(rotary.position_scale * sums[size_t(f)]);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
