// Optimizer passes over flat parameter buffers.
#include <cmath>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/map.h"

namespace gyre::cuda {
namespace {

constexpr int kSquaresThreads = 256;
template <class T>
constexpr int kPartsOfThread = int(kSquaresBlock / (kSquaresThreads * kPackSize<T>));

// sums[b] = sum of squares of block b of x.
template <class T>
__global__ void squares_kernel(double* sums, const T* x, int64_t n, bool aligned) {
  __shared__ double scratch[kWarp];
  double sum = 0;
#pragma unroll 4
  for (int p = 0; p < kPartsOfThread<T>; ++p) {
    const int thread = p * kSquaresThreads + int(threadIdx.x);
    const int64_t first = blockIdx.x * kSquaresBlock + thread * kPackSize<T>;
    const Pack<T> some = load_pack(x + first, count_in_pack<T>(first, n), aligned);
    for (int i = 0; i < kPackSize<T>; ++i) sum += double(some[i]) * double(some[i]);
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Runs as one block, so that the order of the sum is fixed.
constexpr int kJudgeThreads = 1024;
__global__ void judge_kernel(double* verdict, const double* squares, int64_t n, GradientLimits limits) {
  __shared__ double scratch[kWarp];
  double sum = 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < n; i += kJudgeThreads) sum += squares[i];
  const double norm = sqrt(block_sum(sum, scratch)) / limits.normalizer;
  if (threadIdx.x != 0) return;
  // 1e-6 avoids a division by zero.
  const double ratio = limits.clip_norm / (norm + 1e-6);
  const double clip = limits.clip_norm > 0 && ratio < 1 ? ratio : 1;
  verdict[kGradientNorm] = norm;
  verdict[kGradientFactor] = clip / limits.normalizer;
  verdict[kAccepted] = std::isfinite(norm) && clip * norm <= limits.largest ? 1 : 0;
}

// The place of a pack of elements in the arenas and among the gradients, and its group.
struct Place {
  int64_t value, gradient, state, group;
};
// `element` counts the elements of all ranges. The threads of a block search from the same element, so that they read
// the same rows; a few of them then go on to later rows.
__device__ inline Place find_place(const int32_t* table, int ranges, int64_t first_of_block, int64_t element) {
  constexpr int kColumns = UpdateRanges::kColumns;
  const auto first = [&](int row) { return table[row * kColumns + UpdateRanges::kFirst] * kUpdateUnit; };
  int row = 0;
  for (int past = ranges; past - row > 1;) {
    const int middle = (row + past) / 2;
    (first(middle) <= first_of_block ? row : past) = middle;
  }
  while (row + 1 < ranges && first(row + 1) <= element) ++row;
  const int32_t* at = table + row * kColumns;
  const int64_t skipped = element - first(row);
  return {at[UpdateRanges::kBegin] * kUpdateUnit + skipped, at[UpdateRanges::kGradient] * kUpdateUnit + skipped,
          at[UpdateRanges::kState] * kUpdateUnit + skipped, at[UpdateRanges::kGroup]};
}

// UpdateRanges in GPU memory.
struct DeviceRanges {
  const int32_t* table;
  const double* groups;
  int count;
  int64_t elements;

  DeviceRanges(const UpdateRanges& ranges, Context& context)
      : table(context.ids(ranges.table)),
        groups(ranges.groups.data<double>()),
        count(int(ranges.table.dim(0))),
        elements(ranges.units * kUpdateUnit) {}

  // The place of this thread's pack of T. Packs lie within units, so they are always complete.
  template <class T>
  __device__ Place place_of_thread() const {
    static_assert(kUpdateUnit % kPackSize<T> == 0);
    return find_place(table, count, int64_t(blockIdx.x) * kMapThreads * kPackSize<T>, first_of_thread<T>());
  }
  __device__ const double* group(int64_t row) const { return groups + row * UpdateRanges::kGroupColumns; }
};

template <class T>
__global__ void adam_kernel(T* value, T* m, T* v, T* gradient, DeviceRanges ranges, bool aligned, const double* verdict,
                            Adam<T> adam) {
  constexpr int N = kPackSize<T>;
  if (first_of_thread<T>() >= ranges.elements) return;
  const Place at = ranges.place_of_thread<T>();
  if (verdict[kAccepted] != 0) {
    const T factor = T(verdict[kGradientFactor]);
    const GroupFactors<T> group = adam.factors(ranges.group(at.group));
    T values[N], means[N], squares[N], gradients[N];
    load_numbers(values, value + at.value, N, aligned);
    load_numbers(means, m + at.state, N, aligned);
    load_numbers(squares, v + at.state, N, aligned);
    load_numbers(gradients, gradient + at.gradient, N, aligned);
#pragma unroll
    for (int i = 0; i < N; ++i) adam.update(values[i], means[i], squares[i], gradients[i] * factor, group);
    store_numbers(value + at.value, values, N, aligned);
    store_numbers(m + at.state, means, N, aligned);
    store_numbers(v + at.state, squares, N, aligned);
  }
  store_pack(gradient + at.gradient, Pack<T>{}, N, aligned);
}

template <class T>
__global__ void lion_kernel(T* value, T* m, T* gradient, DeviceRanges ranges, bool aligned, const double* verdict,
                            Lion<T> lion) {
  constexpr int N = kPackSize<T>;
  if (first_of_thread<T>() >= ranges.elements) return;
  const Place at = ranges.place_of_thread<T>();
  if (verdict[kAccepted] != 0) {
    const T factor = T(verdict[kGradientFactor]);
    const GroupFactors<T> group = lion.factors(ranges.group(at.group));
    T values[N], means[N], gradients[N];
    load_numbers(values, value + at.value, N, aligned);
    load_numbers(means, m + at.state, N, aligned);
    load_numbers(gradients, gradient + at.gradient, N, aligned);
#pragma unroll
    for (int i = 0; i < N; ++i) lion.update(values[i], means[i], gradients[i] * factor, group);
    store_numbers(value + at.value, values, N, aligned);
    store_numbers(m + at.state, means, N, aligned);
  }
  store_pack(gradient + at.gradient, Pack<T>{}, N, aligned);
}

template <class T>
struct Approach {
  T rest;
  const double* verdict;
  __device__ T operator()(T average, T value) const {
    return verdict[kAccepted] != 0 ? average + rest * (value - average) : average;
  }
};

}  // namespace

void CudaKernels::block_square_sums(const Tensor& sums, const Tensor& x) {
  dispatch_float(x, [&]<class T>(T) {
    launch(squares_kernel<T>, dim3(unsigned(squares_blocks(x.size()))), dim3(kSquaresThreads), 0, context_.stream(),
           sums.data<double>(), x.data<T>(), x.size(), all_aligned(x));
  });
}

void CudaKernels::judge_gradient(const Tensor& verdict, const Tensor& squares, const GradientLimits& limits) {
  launch(judge_kernel, dim3(1), dim3(kJudgeThreads), 0, context_.stream(), verdict.data<double>(),
         squares.data<double>(), squares.size(), limits);
}

void CudaKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                       const UpdateRanges& ranges, const Tensor& verdict, const AdamStep& step) {
  dispatch_float(value, [&]<class T>(T) {
    const DeviceRanges on_device(ranges, context_);
    launch(adam_kernel<T>, dim3(map_blocks<T>(on_device.elements)), dim3(kMapThreads), 0, context_.stream(),
           value.data<T>(), m.data<T>(), v.data<T>(), gradient.data<T>(), on_device, all_aligned(value, m, v, gradient),
           verdict.data<double>(), Adam<T>(step));
  });
}

void CudaKernels::lion(const Tensor& value, const Tensor& m, const Tensor& gradient, const UpdateRanges& ranges,
                       const Tensor& verdict, const LionStep& step) {
  dispatch_float(value, [&]<class T>(T) {
    const DeviceRanges on_device(ranges, context_);
    launch(lion_kernel<T>, dim3(map_blocks<T>(on_device.elements)), dim3(kMapThreads), 0, context_.stream(),
           value.data<T>(), m.data<T>(), gradient.data<T>(), on_device, all_aligned(value, m, gradient),
           verdict.data<double>(), Lion<T>(step));
  });
}

void CudaKernels::moving_average(const Tensor& average, const Tensor& value, const Tensor& verdict, double decay) {
  dispatch_float(value, [&]<class T>(T) {
    map<T>(context_, average, Approach<T>{T(1 - decay), verdict.data<double>()}, average, value);
  });
}

}  // namespace gyre::cuda
