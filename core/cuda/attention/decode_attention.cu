// Decode attention with a KV cache: one query per hypothesis, over the tokens of the hypothesis. The cache holds one
// tensor per step; `ancestry` gives the row of each token.
//   out = sum_t p_t v_t,  p = softmax(scale * q . k_t), plus relative-position terms (PositionTables)
// One block per row and head. A team is as many lanes as hold the features of a head, 16 bytes each. The tokens are
// distributed over the teams. Each team runs an online softmax: it keeps its largest score so far, the sum of the
// exponentials, and the sum of the weighted values. Then the teams of a warp are added, and then the warps, in a fixed
// order.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 4;               // warps per block
constexpr int kStepsInArguments = 384;  // number of addresses that fit into the 4 KiB of kernel arguments

// The addresses of the steps. Those beyond the first kStepsInArguments are in device memory.
template <class D>
struct Steps {
  const D* first[kStepsInArguments];
  const D* const* others;
  int64_t count;
  __device__ const D* operator[](int64_t t) const {
    return t < kStepsInArguments ? first[t] : others[t - kStepsInArguments];
  }
};

// The number of parts per lane. A part is a pack of adjacent features; part p starts at feature
// (p * team + lane of the team) * kPackSize.
template <class D>
constexpr int kParts = kWidestHead / (kWarp * kPackSize<D>);

template <class D>
struct Lane {
  using T = Compute<D>;
  int lane, team, width;
  bool aligned;

  __device__ int feature(int part) const { return (part * team + lane) * kPackSize<D>; }
  __device__ int count(int part) const { return count_in_pack<D>(feature(part), width); }
  __device__ void store(T* to, const T (&from)[kParts<D>][kPackSize<D>]) const {
#pragma unroll
    for (int p = 0; p < kParts<D>; ++p) store_numbers(to + feature(p), from[p], count(p), false);
  }
  __device__ void load(Pack<D> (&to)[kParts<D>], const D* from, bool there) const {
#pragma unroll
    for (int p = 0; p < kParts<D>; ++p) to[p] = load_pack(from + feature(p), there ? count(p) : 0, aligned);
  }
};

// State of the online softmax. `largest` starts at the lowest finite number, because the difference of two infinities
// would be NaN.
template <class D>
struct Progress {
  using T = Compute<D>;
  static constexpr int P = kParts<D>, N = kPackSize<D>;
  T largest = std::numeric_limits<T>::lowest(), sum = 0, values[P][N] = {};

  __device__ void scale(T factor) {
    sum *= factor;
#pragma unroll
    for (int p = 0; p < P; ++p) {
#pragma unroll
      for (int i = 0; i < N; ++i) values[p][i] *= factor;
    }
  }
  // Raises the largest score to `score`, which is multiplied by log2(e), and rescales the sums.
  __device__ void raise(T score) {
    if (!(score > largest)) return;
    scale(std::exp2(largest - score));
    largest = score;
  }
  // Adds a token, and returns its weight.
  __device__ T add(T score, const Pack<D> (&v)[P]) {
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
  // Adds the states of the teams of a warp.
  __device__ void add_teams(int team) {
    for (int apart = team; apart < kWarp; apart *= 2) {
      raise(__shfl_xor_sync(0xFFFFFFFF, largest, apart));  // now both have the same largest score
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, apart);
#pragma unroll
      for (int p = 0; p < P; ++p) {
#pragma unroll
        for (int i = 0; i < N; ++i) values[p][i] += __shfl_xor_sync(0xFFFFFFFF, values[p][i], apart);
      }
    }
  }
};

// Relative-position terms of the last token as the query, for the token at position t.
template <class D>
struct StepPositionTerms {
  using T = Compute<D>;
  static constexpr int P = kParts<D>, N = kPackSize<D>;
  const PositionTableRows<T>& tables;
  int64_t last;  // position of the last token
  int head;

  __device__ int64_t first_seen() const { return last > tables.window ? last - tables.window : 0; }
  // The lane's partial sum of q . query_table + k . key_table + pos_queries . pos_keys.
  __device__ T dots(const Lane<D>& lane, const Pack<D> (&q)[P], const Pack<D> (&k)[P], int64_t t) const {
    T sum = 0;
    for_features(lane, tables.query, t, [&](int p, int i, T x) { sum += q[p][i] * x; });
    for_features(lane, tables.key, t, [&](int p, int i, T x) { sum += k[p][i] * x; });
    const T *x = tables.pos_queries.row(last, head), *y = tables.pos_keys.row(t, head);
    for (int f = lane.lane; f < tables.pos_width; f += lane.team) sum += x[f] * y[f];
    return sum;
  }
  __device__ T bias(int64_t t) const { return tables.bias_of(t - last, head) * std::numbers::log2e_v<T>; }
  __device__ void add_values(Progress<D>& progress, T weight, const Lane<D>& lane, int64_t t) const {
    for_features(lane, tables.value, t, [&](int p, int i, T x) { progress.values[p][i] += weight * x; });
  }

 private:
  // Calls f(p, i, x) for each feature of the lane, where x is the table's value for number i of part p.
  template <class F>
  __device__ void for_features(const Lane<D>& lane, const HeadTable<T>& table, int64_t t, const F& f) const {
    if (!table) return;
    const T* row = table.row(tables.zero_offset + t - last, head);
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
__global__ void attend(D* out, Steps<D> steps, const int32_t* ancestry, int heads, int width, bool aligned, int team,
                       T scale, const PositionTableRows<T> tables) {
  constexpr int P = kParts<D>, N = kPackSize<D>;
  __shared__ T largest[kWarps], sums[kWarps], values[kWarps][kWidestHead];
  const int thread = int(threadIdx.x), warp = thread / kWarp;
  const Lane<D> lane{thread % team, team, width, aligned};
  const int64_t row = blockIdx.x / heads, feature = blockIdx.x % heads * int64_t(width), d = int64_t(heads) * width;
  const StepPositionTerms<D> terms{tables, steps.count - 1, int(blockIdx.x % heads)};
  const int32_t* row_of_step = ancestry + row * steps.count;

  Pack<D> q[P], k[P], v[P];
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

// The addresses as host metadata, in pairs of i32.
Tensor words_of(const std::vector<const void*>& addresses) {
  const Tensor words = Tensor::empty({2 * int64_t(addresses.size())}, DType::i32);
  if (!addresses.empty()) std::memcpy(words.raw(), addresses.data(), words.bytes());
  return words;
}

}  // namespace

void CudaKernels::decode_attention(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& ancestry,
                                   const AttentionShape& shape, const PositionTables& terms) {
  const int64_t rows = out.rows(), width = out.cols() / shape.heads, count = int64_t(steps.size());
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  dispatch_data_type(out, [&]<class D>(D) {
    using T = Compute<D>;
    Steps<D> table{{}, nullptr, count};
    std::vector<const void*> others;
    bool aligned = width % kPackSize<D> == 0;
    for (int64_t t = 0; t < count; ++t) {
      const D* step = steps[size_t(t)].data<D>();
      aligned = aligned && is_aligned(step);
      if (t < kStepsInArguments) {
        table.first[t] = step;
      } else {
        others.push_back(step);
      }
    }
    const Tensor words = words_of(others);  // must live until the kernel is queued
    table.others = reinterpret_cast<const D* const*>(context_.ids(words));
    const int64_t lanes = std::min<int64_t>(divide_up(width, kPackSize<D>), kWarp);
    const PositionTableRows<T> tables(terms, shape, width, int(count));
    launch(tables ? attend<D, true> : attend<D, false>, dim3(unsigned(rows * shape.heads)), dim3(kWarps * kWarp), 0,
           context_.stream(), out.data<D>(), table, context_.ids(ancestry), shape.heads, int(width), aligned,
           int(std::bit_ceil(uint64_t(lanes))), T(shape.scale) * std::numbers::log2e_v<T>, tables);
  });
}

}  // namespace gyre::cuda
