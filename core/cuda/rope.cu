// Rotary position embedding outside of attention. Backward, the transpose, is the same kernel with -s.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/rope_frequencies.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 8;  // warps per block

// One thread per position and pair.
template <class T, class F>
__global__ void fill_angles(T* angles, const F* frequencies, int64_t positions, RopeShape rotary) {
  const int64_t job = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, half = rotary.dims / 2;
  if (job >= positions * half) return;
  const int64_t position = job / half, i = job % half;
  set_rotary_factors(angles + position * 2 * rotary.dims, rotary, i, position, double(frequencies[i]));
}

struct RopeCall {
  int64_t rows, heads, width, dims;
  bool inverse;
};

// Splits the features of a head into jobs. A job rotates a pack, whose partners are within the pack
// (interleaved) or half the rotated features away, or copies features that are not rotated.
template <class D, bool interleaved, bool aligned>
struct RopeJobs {
  using T = Compute<D>;
  static constexpr int N = kPackSize<D>;

  const T* angles;  // angles of the row's position
  const RopeCall& rotation;

  __device__ int64_t rotated_end() const { return interleaved ? rotation.dims : rotation.dims / 2; }
  __device__ int rotation_jobs() const { return int(divide_up(rotated_end(), N)); }
  __device__ int jobs() const { return rotation_jobs() + int(divide_up(rotation.width - rotation.dims, N)); }

  __device__ void run(D* to, const D* from, int job) const {
    if (job >= rotation_jobs()) {
      copy(to, from, rotation.dims + (job - rotation_jobs()) * N);
    } else if constexpr (interleaved) {
      rotate_interleaved(to, from, job * N);
    } else {
      rotate_halves(to, from, job * N);
    }
  }

 private:
  // A compile-time constant if all rows are aligned, because loads overlap only if there is no branch between them.
  static __device__ int count(int64_t f, int64_t end) { return aligned ? N : count_in_pack<D>(f, end); }

  __device__ void copy(D* to, const D* from, int64_t f) const {
    const int some = count(f, rotation.width);
    store_pack(to + f, load_pack(from + f, some, aligned), some, aligned);
  }

  // The factors C and S of the features from f on.
  struct Factors {
    T c[N], s[N];
    __device__ Factors(const RopeJobs& t, int64_t f, int some) {
      load_numbers(c, t.angles + f, some, aligned);
      load_numbers(s, t.angles + t.rotation.dims + f, some, aligned);
    }
    __device__ T rotated(int i, T x, T partner, bool inverse) const {
      return rotated_feature<false>(x, partner, c[i], inverse ? -s[i] : s[i]);
    }
  };

  __device__ void rotate_interleaved(D* to, const D* from, int64_t f) const {
    const int some = count(f, rotated_end());
    const Pack<D> x = load_pack(from + f, some, aligned);
    const Factors factors(*this, f, some);
    T y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = factors.rotated(i, x[i], x[i ^ 1], rotation.inverse);
    store_pack(to + f, y, some, aligned);
  }

  // All loads come before the stores.
  __device__ void rotate_halves(D* to, const D* from, int64_t f) const {
    const int64_t g = f + rotation.dims / 2;
    const int some = count(f, rotated_end());
    const Pack<D> first = load_pack(from + f, some, aligned);
    const Pack<D> second = load_pack(from + g, some, aligned);
    const Factors of_first(*this, f, some), of_second(*this, g, some);
    T y[N], z[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      y[i] = of_first.rotated(i, first[i], second[i], rotation.inverse);
      z[i] = of_second.rotated(i, second[i], first[i], rotation.inverse);
    }
    store_pack(to + f, y, some, aligned);
    store_pack(to + g, z, some, aligned);
  }
};

// One warp per row. y may be x, because each job reads exactly the features that it writes.
template <class D, bool interleaved, bool aligned>
__global__ void rotate_rows(Rows<D> y, Rows<D> x, const int32_t* positions, const Compute<D>* angles,
                            RopeCall rotation) {
  const int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y;
  if (row >= rotation.rows) return;
  const RopeJobs<D, interleaved, aligned> rotator{angles + positions[row] * 2 * rotation.dims, rotation};
  const int jobs = rotator.jobs();  // jobs per head
  for (int job = int(threadIdx.x); job < jobs * rotation.heads; job += kWarp) {
    const int64_t feature = job / jobs * rotation.width;
    rotator.run(y.data + row * y.stride + feature, x.data + row * x.stride + feature, job % jobs);
  }
}

template <class D>
struct FrequencyTerm {
  const D *y, *dy;
  int64_t heads, width;

  __device__ double operator()(int64_t row, int64_t head, int a, int b) const {
    const int64_t first = (row * heads + head) * width;
    return angle_gradient(dy[first + a], dy[first + b], y[first + a], y[first + b]);
  }
};

}  // namespace

// The frequencies may be a constant tensor on the CPU.
void CudaKernels::rotary_angles(const Tensor& angles, const Tensor& frequencies, const RopeShape& rotary) {
  const Tensor here = frequencies.to(angles.device());
  dispatch_float(angles, [&]<class T>(T) {
    dispatch_float(here, [&]<class F>(F) {
      const int64_t positions = angles.rows(), jobs = positions * (rotary.dims / 2);
      launch(fill_angles<T, F>, dim3(unsigned(divide_up(jobs, 256))), dim3(256), 0, context_.stream(), angles.data<T>(),
             here.data<F>(), positions, rotary);
    });
  });
}

void CudaKernels::rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& angles,
                       const RopeShape& rotary, int64_t width, bool inverse) {
  dispatch_data_type(x.rows, [&]<class D>(D) {
    const Rows<D> to = rows_of<D>(y), from = rows_of<D>(x);
    const auto* factors = angles.data<Compute<D>>();
    const bool interleaved = rotary.interleaved();
    const int rotated = interleaved ? rotary.dims : rotary.dims / 2;  // contiguous rotated features
    const bool aligned = has_aligned_rows(from.data, from.stride) && has_aligned_rows(to.data, to.stride) &&
                         all_aligned(angles) && width % kPackSize<D> == 0 && rotated % kPackSize<D> == 0;
    const RopeCall rotation{x.rows.rows(), rotary.heads, width, rotary.dims, inverse};
    const auto kernel = interleaved ? aligned ? rotate_rows<D, true, true> : rotate_rows<D, true, false>
                        : aligned ? rotate_rows<D, false, true>
                                    : rotate_rows<D, false, false>;
    launch(kernel, dim3(unsigned(divide_up(rotation.rows, kWarps))), dim3(kWarp, kWarps), 0, context_.stream(), to,
           from, context_.ids(positions), factors, rotation);
  });
}

void CudaKernels::rope_frequencies_backward(const Tensor& dfrequencies, const Tensor& dy, const Tensor& y,
                                            const Tensor& positions, const RopeShape& rotary) {
  dispatch_data_type(y, [&]<class D>(D) {
    const FrequencyTerm<D> term{y.data<D>(), dy.data<D>(), rotary.heads, y.cols() / rotary.heads};
    add_frequency_gradients<Compute<D>>(context_, dfrequencies, context_.ids(positions), y.rows(), rotary.heads, rotary,
                                        term);
  });
}

}  // namespace gyre::cuda
