// Attention while decoding: one query of each hypothesis over the tokens that it has, wherever the steps left them.
//   out = sum_t p_t v_t,  p = softmax(scale * q . k_t), and what order adds (AttentionTerms)
// A block takes a row and a head. As many lanes as hold a head's features, 16 bytes each, make a team, and a team takes
// every so many-th token: it keeps the largest score so far, the sum of the exponentials below it, and the values
// weighted with them. The teams of a warp are then added, and the warps, always in the same order.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "core/cuda/attention_call.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/vectors.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 4;           // of a block
constexpr int kStepsBesides = 384;  // whose addresses fit among a kernel's arguments, 4 KiB

// Where the tokens of each step lie; the steps beyond the first few hundred in the GPU's memory.
template <class D>
struct Steps {
  const D* first[kStepsBesides];
  const D* const* others;
  int64_t count;
  __device__ const D* operator[](int64_t t) const { return t < kStepsBesides ? first[t] : others[t - kStepsBesides]; }
};

// A lane holds parts of neighbouring features: those of part p start at (p * team + lane of the team) * kNeighbours.
template <class D>
constexpr int kParts = kWidestHead / (kWarp * kNeighbours<D>);

template <class D>
struct Lane {
  using T = Compute<D>;
  int lane, team, width;
  bool aligned;

  __device__ int feature(int part) const { return (part * team + lane) * kNeighbours<D>; }
  __device__ int count(int part) const { return count_neighbours<D>(feature(part), width); }
  __device__ void store(T* to, const T (&from)[kParts<D>][kNeighbours<D>]) const {
#pragma unroll
    for (int p = 0; p < kParts<D>; ++p) store_numbers(to + feature(p), from[p], count(p), false);
  }
  __device__ void load(Neighbours<D> (&to)[kParts<D>], const D* from, bool there) const {
#pragma unroll
    for (int p = 0; p < kParts<D>; ++p) to[p] = load_neighbours(from + feature(p), there ? count(p) : 0, aligned);
  }
};

// Softmax as far as it has come; begins below every score, but not at -infinity.
template <class D>
struct Progress {
  using T = Compute<D>;
  static constexpr int P = kParts<D>, N = kNeighbours<D>;
  T largest = std::numeric_limits<T>::lowest(), sum = 0, values[P][N] = {};

  __device__ void scale(T factor) {
    sum *= factor;
#pragma unroll
    for (int p = 0; p < P; ++p) {
#pragma unroll
      for (int i = 0; i < N; ++i) values[p][i] *= factor;
    }
  }
  // Scores are in powers of two.
  __device__ void raise(T score) {
    if (!(score > largest)) return;
    scale(std::exp2(largest - score));
    largest = score;
  }
  // Gives the weight.
  __device__ T add(T score, const Neighbours<D> (&v)[P]) {
    raise(score);
    const T weight = std::exp2(score - largest);
    sum += weight;
#pragma unroll
    for (int p = 0; p < P; ++p) {
#pragma unroll
      for (int i = 0; i < N; ++i) values[p][i] += weight * v[p][i];
    }
    return weight;
  }
  // Over the teams of a warp.
  __device__ void add_teams(int team) {
    for (int apart = team; apart < kWarp; apart *= 2) {
      raise(__shfl_xor_sync(0xFFFFFFFF, largest, apart));  // now both have the same
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, apart);
#pragma unroll
      for (int p = 0; p < P; ++p) {
#pragma unroll
        for (int i = 0; i < N; ++i) values[p][i] += __shfl_xor_sync(0xFFFFFFFF, values[p][i], apart);
      }
    }
  }
};

// What order adds for the token at place t, as the last one sees it.
template <class D>
struct StepTerms {
  using T = Compute<D>;
  static constexpr int P = kParts<D>, N = kNeighbours<D>;
  const OrderTerms<T>& order;
  int64_t last;  // place
  int head;

  __device__ int64_t first_seen() const { return last > order.reach ? last - order.reach : 0; }
  // The lane's part of q . query_table + k . key_table + query_places . key_places.
  __device__ T dots(const Lane<D>& lane, const Neighbours<D> (&q)[P], const Neighbours<D> (&k)[P], int64_t t) const {
    T sum = 0;
    for_features(lane, order.query, t, [&](int p, int i, T x) { sum += q[p][i] * x; });
    for_features(lane, order.key, t, [&](int p, int i, T x) { sum += k[p][i] * x; });
    const T *x = order.query_places.row(last, head), *y = order.key_places.row(t, head);
    for (int f = lane.lane; f < order.place_width; f += lane.team) sum += x[f] * y[f];
    return sum;
  }
  __device__ T bias(int64_t t) const { return order.bias_of(t - last, head) * std::numbers::log2e_v<T>; }
  __device__ void add_values(Progress<D>& progress, T weight, const Lane<D>& lane, int64_t t) const {
    for_features(lane, order.value, t, [&](int p, int i, T x) { progress.values[p][i] += weight * x; });
  }

 private:
  // f(p, i, what the table has for the lane's number i of part p)
  template <class F>
  __device__ void for_features(const Lane<D>& lane, const HeadTable<T>& table, int64_t t, const F& f) const {
    if (!table) return;
    const T* row = table.row(order.zero + t - last, head);
#pragma unroll
    for (int p = 0; p < P; ++p) {
      T numbers[N];
      load_numbers(numbers, row + lane.feature(p), lane.count(p), is_aligned(row + lane.feature(p)));
#pragma unroll
      for (int i = 0; i < N; ++i) f(p, i, numbers[i]);
    }
  }
};

template <class D, bool Ordered, class T = Compute<D>>
__global__ void attend(D* out, Steps<D> steps, const int32_t* path, int heads, int width, bool aligned, int team,
                       T scale, const OrderTerms<T> order) {
  constexpr int P = kParts<D>, N = kNeighbours<D>;
  __shared__ T largest[kWarps], sums[kWarps], values[kWarps][kWidestHead];
  const int thread = int(threadIdx.x), warp = thread / kWarp;
  const Lane<D> lane{thread % team, team, width, aligned};
  const int64_t row = blockIdx.x / heads, feature = blockIdx.x % heads * int64_t(width), d = int64_t(heads) * width;
  const StepTerms<D> terms{order, steps.count - 1, int(blockIdx.x % heads)};
  const int32_t* row_of_step = path + row * steps.count;

  Neighbours<D> q[P], k[P], v[P];
  lane.load(q, steps[steps.count - 1] + row * 3 * d + feature, true);
  Progress<D> progress;
  for (int64_t first = Ordered ? terms.first_seen() : 0; first < steps.count; first += kWarps * kWarp / team) {
    const int64_t t = first + thread / team;
    const bool there = t < steps.count;
    const int64_t step = there ? t : 0;
    const D* token = steps[step] + row_of_step[step] * 3 * d + feature;
    lane.load(k, token + d, there);
    lane.load(v, token + 2 * d, there);
    T score = 0;
#pragma unroll
    for (int p = 0; p < P; ++p) {
#pragma unroll
      for (int i = 0; i < N; ++i) score += q[p][i] * k[p][i];
    }
    if (Ordered && there) score += terms.dots(lane, q, k, t);
    for (int apart = team / 2; apart > 0; apart /= 2) score += __shfl_xor_sync(0xFFFFFFFF, score, apart);
    if (there) {
      const T weight = progress.add(Ordered ? scale * score + terms.bias(t) : scale * score, v);
      if (Ordered) terms.add_values(progress, weight, lane, t);
    }
  }
  progress.add_teams(team);

  if (thread % kWarp == 0) {
    largest[warp] = progress.largest;
    sums[warp] = progress.sum;
  }
  if (thread % kWarp < team) lane.store(values[warp], progress.values);
  __syncthreads();
  T top = largest[0], sum = 0, factors[kWarps];
  for (int w = 1; w < kWarps; ++w) top = largest[w] > top ? largest[w] : top;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    factors[w] = std::exp2(largest[w] - top);
    sum += factors[w] * sums[w];
  }
  for (int f = thread; f < width; f += kWarps * kWarp) {
    T value = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) value += factors[w] * values[w][f];
    store(out + row * d + feature + f, value / sum);
  }
}

// On the GPU like other host metadata, as pairs of i32.
Tensor words_of(const std::vector<const void*>& addresses) {
  const Tensor words = Tensor::empty({2 * int64_t(addresses.size())}, DType::i32);
  if (!addresses.empty()) std::memcpy(words.raw(), addresses.data(), words.bytes());
  return words;
}

}  // namespace

void CudaKernels::attention_over_steps(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& path,
                                       const AttentionShape& shape, const AttentionTerms& terms) {
  const int64_t rows = out.rows(), width = out.cols() / shape.heads, count = int64_t(steps.size());
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  with_data_type(out, [&]<class D>(D) {
    using T = Compute<D>;
    Steps<D> table{{}, nullptr, count};
    std::vector<const void*> others;
    bool aligned = width % kNeighbours<D> == 0;
    for (int64_t t = 0; t < count; ++t) {
      const D* step = steps[size_t(t)].data<D>();
      aligned = aligned && is_aligned(step);
      if (t < kStepsBesides) {
        table.first[t] = step;
      } else {
        others.push_back(step);
      }
    }
    const Tensor words = words_of(others);  // until the kernel is queued
    table.others = reinterpret_cast<const D* const*>(context_.ids(words));
    const int64_t lanes = std::min<int64_t>(divide_up(width, kNeighbours<D>), kWarp);
    const OrderTerms<T> order(terms, shape, width, int(count));
    launch(order ? attend<D, true> : attend<D, false>, dim3(unsigned(rows * shape.heads)), dim3(kWarps * kWarp), 0,
           context_.stream(), out.data<D>(), table, context_.ids(path), shape.heads, int(width), aligned,
           int(std::bit_ceil(uint64_t(lanes))), T(shape.scale) * std::numbers::log2e_v<T>, order);
  });
}

}  // namespace gyre::cuda
