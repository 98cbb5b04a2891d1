// Rotary position embedding, c, s = cos, sin(position * frequency_i), m the magnitude:
//   y1 = m (x1 c - x2 s),  y2 = m (x1 s + x2 c);  backward is the transpose: the same with the sign of s turned.
//   angle gradient: dtheta = dy2 y1 - dy1 y2, so dfrequency_i = sum of position * dtheta
#include <cmath>

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/items.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 8;  // of a block

// Which features make a pair.
struct Pairs {
  int64_t half;
  bool interleaved;
  explicit Pairs(const Rotary& rotary) : half(rotary.dims / 2), interleaved(rotary.pairs == RotaryPairs::interleaved) {}
  __device__ int64_t first(int64_t i) const { return interleaved ? 2 * i : i; }
  __device__ int64_t second(int64_t i) const { return interleaved ? 2 * i + 1 : i + half; }
};

// A thread per position and pair.
template <class T, class F>
__global__ void fill_angles(T* angles, const F* frequencies, int64_t positions, Pairs pairs, double magnitude) {
  const int64_t job = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (job >= positions * pairs.half) return;
  const int64_t position = job / pairs.half, i = job % pairs.half, dims = 2 * pairs.half;
  const double angle = double(position) * double(frequencies[i]);
  const T c = T(magnitude * std::cos(angle)), s = T(magnitude * std::sin(angle));
  T* row = angles + position * 2 * dims;
  const int64_t first = pairs.first(i), second = pairs.second(i);
  row[first] = row[second] = c;
  row[dims + first] = -s;
  row[dims + second] = s;
}

struct Turn {
  int64_t rows, heads, width, dims;
  bool inverse;
};

// How the features of a head are shared out: each job turns N neighbours, of which pairs are made among themselves or
// with the N that stand half the rotated features further, or copies kCopied that do not turn.
template <class D, int N, size_t alignment, bool interleaved>
struct Turner {
  using T = Compute<D>;
  static constexpr int kCopied = alignment > sizeof(D) ? N : 1;
  static constexpr size_t kOfAngles = alignment > sizeof(D) ? kWholeAlignment<T, N> : sizeof(T);

  const T* angles;  // of the row's position
  int64_t dims;
  bool inverse;

  static __host__ __device__ int64_t turning(int64_t dims) { return interleaved ? dims / N : dims / 2 / N; }

  __device__ void run(D* to, const D* from, int64_t job) const {
    const int64_t turns = turning(dims);
    if (job >= turns) return copy(to, from, dims + (job - turns) * kCopied);
    if constexpr (interleaved) {
      turn_neighbours(to, from, job * N);
    } else {
      turn_halves(to, from, job * N);
    }
  }

 private:
  __device__ void copy(D* to, const D* from, int64_t f) const {
    T x[kCopied];
    load_items<alignment>(x, from + f);
    store_items<alignment>(to + f, x);
  }

  // y = C x + S partner, or back: C x - S partner; C and S of the features from f on.
  __device__ void turned(T (&y)[N], const T (&x)[N], const T (&partner)[N], int64_t f) const {
    T c[N], s[N];
    load_items<kOfAngles>(c, angles + f);
    load_items<kOfAngles>(s, angles + dims + f);
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = x[i] * c[i] + (inverse ? -s[i] : s[i]) * partner[i];
  }

  __device__ void turn_neighbours(D* to, const D* from, int64_t f) const {
    T x[N], partner[N], y[N];
    load_items<alignment>(x, from + f);
#pragma unroll
    for (int i = 0; i < N; ++i) partner[i] = x[i ^ 1];
    turned(y, x, partner, f);
    store_items<alignment>(to + f, y);
  }

  __device__ void turn_halves(D* to, const D* from, int64_t f) const {
    const int64_t g = f + dims / 2;
    T first[N], second[N], y[N];
    load_items<alignment>(first, from + f);
    load_items<alignment>(second, from + g);
    turned(y, first, second, f);
    store_items<alignment>(to + f, y);
    turned(y, second, first, g);
    store_items<alignment>(to + g, y);
  }
};

// A warp per row. y may be x: each job reads what it writes, and nothing else.
template <class D, int N, size_t alignment, bool interleaved>
__global__ void turn_rows(Rows<D> y, Rows<D> x, const int32_t* positions, const Compute<D>* angles, Turn turn) {
  using OfHead = Turner<D, N, alignment, interleaved>;
  const int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y;
  if (row >= turn.rows) return;
  const OfHead turner{angles + positions[row] * 2 * turn.dims, turn.dims, turn.inverse};
  const int jobs = int(OfHead::turning(turn.dims) + (turn.width - turn.dims) / OfHead::kCopied);  // of a head
  for (int job = int(threadIdx.x); job < jobs * turn.heads; job += kWarp) {
    const int64_t feature = job / jobs * turn.width;
    turner.run(y.data + row * y.stride + feature, x.data + row * x.stride + feature, job % jobs);
  }
}

// 16 bytes at a time where pairs, heads and addresses allow it.
template <class D, bool interleaved>
auto kernel_for(const Rows<D>& y, const Rows<D>& x, const Compute<D>* angles, const Turn& turn) {
  constexpr int k = kPack<D>, few = interleaved ? 2 : 1;
  const bool packs = moves_by<k>(x.data, x.stride) && moves_by<k>(y.data, y.stride) && moves_by<k>(angles, 0) &&
                     turn.width % k == 0 && (interleaved ? turn.dims : turn.dims / 2) % k == 0;
  return packs ? &turn_rows<D, k, 16, interleaved> : &turn_rows<D, few, sizeof(D), interleaved>;
}

constexpr int64_t kRowsOfBlock = 64;

// Of a block of (32 pairs, kWarps): the sum over the warps, in their order, on the first.
__device__ double sum_of_warps(double x) {
  __shared__ double sums[kWarps][kWarp];
  sums[threadIdx.y][threadIdx.x] = x;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < kWarps; ++w) total += sums[w][threadIdx.x];
  return total;
}

// partial(blocks, half): a block's sums over its rows and all heads. blockIdx.y: which 32 pairs.
template <class D>
__global__ void add_rows(double* partial, const D* dy, const D* y, const int32_t* positions, int64_t n, int64_t heads,
                         int64_t width, Pairs pairs) {
  const int64_t pair = int64_t(blockIdx.y) * kWarp + threadIdx.x, first_row = blockIdx.x * kRowsOfBlock;
  const int64_t last_row = first_row + kRowsOfBlock < n ? first_row + kRowsOfBlock : n;
  double sum = 0;
  if (pair < pairs.half) {
    const int64_t a = pairs.first(pair), b = pairs.second(pair);
    for (int64_t row = first_row + threadIdx.y; row < last_row; row += kWarps) {
      double of_row = 0;
      for (int64_t h = 0; h < heads; ++h) {
        const D *out = y + (row * heads + h) * width, *g = dy + (row * heads + h) * width;
        of_row += double(g[b]) * double(out[a]) - double(g[a]) * double(out[b]);
      }
      sum += double(positions[row]) * of_row;
    }
  }
  const double total = sum_of_warps(sum);
  if (threadIdx.y == 0 && pair < pairs.half) partial[blockIdx.x * pairs.half + pair] = total;
}

template <class T>
__global__ void add_partial(T* dfrequencies, const double* partial, int64_t blocks, int64_t half) {
  const int64_t pair = int64_t(blockIdx.x) * kWarp + threadIdx.x;
  double sum = 0;
  if (pair < half) {
    for (int64_t b = threadIdx.y; b < blocks; b += kWarps) sum += partial[b * half + pair];
  }
  const double total = sum_of_warps(sum);
  if (threadIdx.y == 0 && pair < half) dfrequencies[pair] += T(total);
}

}  // namespace

// The frequencies may be a constant on the CPU.
void CudaKernels::rotary_angles(const Tensor& angles, const Tensor& frequencies, const Rotary& rotary) {
  const Tensor here = frequencies.to(angles.device());
  with_type(angles, [&]<class T>(T) {
    with_type(here, [&]<class F>(F) {
      const int64_t positions = angles.rows(), jobs = positions * (rotary.dims / 2);
      launch(fill_angles<T, F>, dim3(unsigned(divide_up(jobs, 256))), dim3(256), 0, context_.stream(), angles.data<T>(),
             here.data<F>(), positions, Pairs(rotary), rotary.magnitude);
    });
  });
}

void CudaKernels::rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& angles,
                       const Rotary& rotary, int64_t width, bool inverse) {
  with_data_type(x.rows, [&]<class D>(D) {
    const Rows<D> to = rows_of<D>(y), from = rows_of<D>(x);
    const auto* factors = angles.data<Compute<D>>();
    const Turn turn{x.rows.rows(), rotary.heads, width, rotary.dims, inverse};
    const auto kernel = rotary.pairs == RotaryPairs::interleaved ? kernel_for<D, true>(to, from, factors, turn)
                                                                 : kernel_for<D, false>(to, from, factors, turn);
    launch(kernel, dim3(unsigned(divide_up(turn.rows, kWarps))), dim3(kWarp, kWarps), 0, context_.stream(), to, from,
           context_.ids(positions), factors, turn);
  });
}

void CudaKernels::rope_frequencies_backward(const Tensor& dfrequencies, const Tensor& dy, const Tensor& y,
                                            const Tensor& positions, const Rotary& rotary) {
  const int64_t n = y.rows(), heads = rotary.heads, blocks = divide_up(n, kRowsOfBlock);
  if (n == 0) return;
  with_data_type(y, [&]<class D>(D) {
    const Pairs pairs(rotary);
    const auto groups = unsigned(divide_up(pairs.half, kWarp));
    const Tensor partial = context_.empty({blocks, pairs.half}, DType::f64);
    launch(add_rows<D>, dim3(unsigned(blocks), groups), dim3(kWarp, kWarps), 0, context_.stream(),
           partial.data<double>(), dy.data<D>(), y.data<D>(), context_.ids(positions), n, heads, y.cols() / heads,
           pairs);
    launch(add_partial<Compute<D>>, dim3(groups), dim3(kWarp, kWarps), 0, context_.stream(),
           dfrequencies.data<Compute<D>>(), partial.data<double>(), blocks, pairs.half);
  });
}

}  // namespace gyre::cuda
