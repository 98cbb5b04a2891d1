// y_s = mean of x_i over the rows i of segment s;  dx_i = dy_s / rows of s.
// A block has a segment and a chunk of columns, which its warps process row by row.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 8;  // warps per block

template <class T>
constexpr int kChunk = kWarp* kPackSize<T>;

// The segment and the columns of the calling thread.
template <class T>
struct Part {
  int32_t begin, end;
  int64_t segment, column;
  int count;  // columns; 0 behind the last one

  __device__ Part(const int32_t* offsets, int64_t chunks, int64_t d) {
    segment = blockIdx.x / chunks;
    begin = offsets[segment];
    end = offsets[segment + 1];
    column = blockIdx.x % chunks * kChunk<T> + threadIdx.x * kPackSize<T>;
    count = count_in_pack<T>(column, d);
  }
};

// Each warp adds every kWarps-th row, and the first warp adds the sums of the warps.
template <class T, class C = Compute<T>>
__global__ void mean_kernel(T* y, const T* x, const int32_t* offsets, int64_t chunks, int64_t d, bool aligned) {
  constexpr int N = kPackSize<T>;
  __shared__ C of_warps[kWarps][kWarp][N];
  const Part<T> part(offsets, chunks, d);
  C sums[N] = {};
  for (int32_t row = part.begin + int32_t(threadIdx.y); row < part.end; row += kWarps) {
    const Pack<T> pack = load_pack(x + int64_t(row) * d + part.column, part.count, aligned);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += pack[i];
  }
#pragma unroll
  for (int i = 0; i < N; ++i) of_warps[threadIdx.y][threadIdx.x][i] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int w = 1; w < kWarps; ++w) {
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += of_warps[w][threadIdx.x][i];
  }
#pragma unroll
  for (int i = 0; i < N; ++i) sums[i] /= C(part.end - part.begin);
  store_pack(y + part.segment * d + part.column, sums, part.count, aligned);
}

template <class T, class C = Compute<T>>
__global__ void spread_kernel(T* dx, const T* dy, const int32_t* offsets, int64_t chunks, int64_t d, bool aligned) {
  constexpr int N = kPackSize<T>;
  const Part<T> part(offsets, chunks, d);
  C shares[N];
  load_numbers(shares, dy + part.segment * d + part.column, part.count, aligned);
#pragma unroll
  for (int i = 0; i < N; ++i) shares[i] /= C(part.end - part.begin);
  for (int32_t row = part.begin + int32_t(threadIdx.y); row < part.end; row += kWarps)
    store_pack(dx + int64_t(row) * d + part.column, shares, part.count, aligned);
}

// Runs a kernel with a block for each segment and chunk of columns.
template <class T, class Kernel>
void run(Context& context, Kernel kernel, const Tensor& out, const Tensor& in, const Segments& segments) {
  const int64_t d = out.cols(), chunks = divide_up(d, kChunk<T>);
  const bool aligned = has_aligned_rows(out.data<T>(), d) && all_aligned(in);
  launch(kernel, dim3(unsigned(segments.count() * chunks)), dim3(kWarp, kWarps), 0, context.stream(), out.data<T>(),
         in.data<T>(), context.offsets(segments), chunks, d, aligned);
}

}  // namespace

void CudaKernels::segment_mean(const Tensor& y, const Tensor& x, const Segments& segments) {
  dispatch_data_type(x, [&]<class T>(T) { run<T>(context_, mean_kernel<T>, y, x, segments); });
}

void CudaKernels::segment_mean_backward(const Tensor& dx, const Tensor& dy, const Segments& segments) {
  dispatch_data_type(dx, [&]<class T>(T) { run<T>(context_, spread_kernel<T>, dx, dy, segments); });
}

}  // namespace gyre::cuda
