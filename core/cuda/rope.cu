// Rotary position embedding, c, s = cos, sin(position * step * frequency_i), m the magnitude:
//   y1 = m (x1 c - x2 s),  y2 = m (x1 s + x2 c);  backward is the transpose: the same with the sign of s turned.
//   angle gradient: dtheta = dy2 y1 - dy1 y2, so dfrequency_i = sum of position * step * dtheta
#include <cmath>

#include "core/cuda/columns.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/vectors.h"

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
__global__ void fill_angles(T* angles, const F* frequencies, int64_t positions, Pairs pairs, double magnitude,
                            double step) {
  const int64_t job = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (job >= positions * pairs.half) return;
  const int64_t position = job / pairs.half, i = job % pairs.half, dims = 2 * pairs.half;
  const double angle = double(position) * step * double(frequencies[i]);
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

// How the features of a head are shared out: each job turns neighbours, of which pairs are made among themselves or
// with those that stand half the rotated features further, or copies some that do not turn.
template <class D, bool interleaved, bool aligned>
struct Turner {
  using T = Compute<D>;
  static constexpr int N = kNeighbours<D>;

  const T* angles;  // of the row's position
  const Turn& turn;

  __device__ int64_t end_of_turns() const { return interleaved ? turn.dims : turn.dims / 2; }
  __device__ int turns() const { return int(divide_up(end_of_turns(), N)); }
  __device__ int jobs() const { return turns() + int(divide_up(turn.width - turn.dims, N)); }

  __device__ void run(D* to, const D* from, int job) const {
    if (job >= turns()) {
      copy(to, from, turn.dims + (job - turns()) * N);
    } else if constexpr (interleaved) {
      turn_neighbours(to, from, job * N);
    } else {
      turn_halves(to, from, job * N);
    }
  }

 private:
  // Known to the compiler where all are aligned: loads that no branch parts are under way together.
  static __device__ int count(int64_t f, int64_t end) { return aligned ? N : count_neighbours<D>(f, end); }

  __device__ void copy(D* to, const D* from, int64_t f) const {
    const int some = count(f, turn.width);
    store_neighbours(to + f, load_neighbours(from + f, some, aligned), some, aligned);
  }

  // C and S of the features from f on.
  struct Factors {
    T c[N], s[N];
    __device__ Factors(const Turner& t, int64_t f, int some) {
      load_numbers(c, t.angles + f, some, aligned);
      load_numbers(s, t.angles + t.turn.dims + f, some, aligned);
    }
    // C x + S partner, or back: C x - S partner.
    __device__ T turned(int i, T x, T partner, bool inverse) const {
      return x * c[i] + (inverse ? -s[i] : s[i]) * partner;
    }
  };

  __device__ void turn_neighbours(D* to, const D* from, int64_t f) const {
    const int some = count(f, end_of_turns());
    const Neighbours<D> x = load_neighbours(from + f, some, aligned);
    const Factors factors(*this, f, some);
    T y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = factors.turned(i, x[i], x[i ^ 1], turn.inverse);
    store_neighbours(to + f, y, some, aligned);
  }

  // What is stored comes after all that is loaded.
  __device__ void turn_halves(D* to, const D* from, int64_t f) const {
    const int64_t g = f + turn.dims / 2;
    const int some = count(f, end_of_turns());
    const Neighbours<D> first = load_neighbours(from + f, some, aligned);
    const Neighbours<D> second = load_neighbours(from + g, some, aligned);
    const Factors of_first(*this, f, some), of_second(*this, g, some);
    T y[N], z[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      y[i] = of_first.turned(i, first[i], second[i], turn.inverse);
      z[i] = of_second.turned(i, second[i], first[i], turn.inverse);
    }
    store_neighbours(to + f, y, some, aligned);
    store_neighbours(to + g, z, some, aligned);
  }
};

// A warp per row. y may be x: each job reads what it writes, and nothing else.
template <class D, bool interleaved, bool aligned>
__global__ void turn_rows(Rows<D> y, Rows<D> x, const int32_t* positions, const Compute<D>* angles, Turn turn) {
  const int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y;
  if (row >= turn.rows) return;
  const Turner<D, interleaved, aligned> turner{angles + positions[row] * 2 * turn.dims, turn};
  const int jobs = turner.jobs();  // of a head
  for (int job = int(threadIdx.x); job < jobs * turn.heads; job += kWarp) {
    const int64_t feature = job / jobs * turn.width;
    turner.run(y.data + row * y.stride + feature, x.data + row * x.stride + feature, job % jobs);
  }
}

constexpr int64_t kRowsOfBlock = 64;

// partial(blocks, half): a block's sums over its rows and all heads. blockIdx.y: which 32 pairs.
template <class D>
__global__ void add_rows(double* partial, const D* dy, const D* y, const int32_t* positions, int64_t n, int64_t heads,
                         int64_t width, Pairs pairs, double step) {
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
  __shared__ double sums[kWarps][kWarp];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || pair >= pairs.half) return;
  for (int w = 1; w < kWarps; ++w) sum += sums[w][threadIdx.x];
  partial[blockIdx.x * pairs.half + pair] = step * sum;
}

}  // namespace

// The frequencies may be a constant on the CPU.
void CudaKernels::rotary_angles(const Tensor& angles, const Tensor& frequencies, const Rotary& rotary) {
  const Tensor here = frequencies.to(angles.device());
  with_type(angles, [&]<class T>(T) {
    with_type(here, [&]<class F>(F) {
      const int64_t positions = angles.rows(), jobs = positions * (rotary.dims / 2);
      launch(fill_angles<T, F>, dim3(unsigned(divide_up(jobs, 256))), dim3(256), 0, context_.stream(), angles.data<T>(),
             here.data<F>(), positions, Pairs(rotary), rotary.magnitude, rotary.step);
    });
  });
}

void CudaKernels::rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& angles,
                       const Rotary& rotary, int64_t width, bool inverse) {
  with_data_type(x.rows, [&]<class D>(D) {
    const Rows<D> to = rows_of<D>(y), from = rows_of<D>(x);
    const auto* factors = angles.data<Compute<D>>();
    const bool interleaved = rotary.pairs == RotaryPairs::interleaved;
    const int turned = interleaved ? rotary.dims : rotary.dims / 2;  // features side by side
    const bool aligned = has_aligned_rows(from.data, from.stride) && has_aligned_rows(to.data, to.stride) &&
                         all_aligned(angles) && width % kNeighbours<D> == 0 && turned % kNeighbours<D> == 0;
    const Turn turn{x.rows.rows(), rotary.heads, width, rotary.dims, inverse};
    const auto kernel = interleaved ? aligned ? turn_rows<D, true, true> : turn_rows<D, true, false>
                        : aligned ? turn_rows<D, false, true>
                                    : turn_rows<D, false, false>;
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
           pairs, rotary.step);
    add_partials<double>(context_, ColumnSums<Compute<D>>{dfrequencies.data<Compute<D>>(), nullptr, pairs.half},
                         partial);
  });
}

}  // namespace gyre::cuda
