// One head of one segment, packed for the vector units: rows padded with zeros to whole vectors.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/cpu/philox_block.h"
#include "core/cpu/small_gemm.h"
#include "core/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Queries worked on at a time: their scores against all keys stay in cache.
constexpr int64_t kQueryBlock = 32;

// Scratch memory of one thread, grown and kept.
template <class T>
class Scratch {
 public:
  T* take(size_t slot, int64_t elements) {
    if (slots_.size() <= slot) slots_.resize(slot + 1);
    std::vector<T>& s = slots_[slot];
    if (int64_t(s.size()) < elements) s.resize(size_t(elements));
    return s.data();
  }

 private:
  std::vector<std::vector<T>> slots_;
};

// to(n, padded) = from(n, width) with row stride d
template <class T>
void pack_rows(T* to, int64_t padded, const T* from, int64_t d, int64_t n, int64_t width) {
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(from + i * d, width, to + i * padded);
    std::fill(to + i * padded + width, to + (i + 1) * padded, T(0));
  }
}

// to(width, padded) = from(n, width)^T
template <class T>
void pack_transposed(T* to, int64_t padded, const T* from, int64_t d, int64_t n, int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    for (int64_t i = 0; i < n; ++i) to[j * padded + i] = from[i * d + j];
    std::fill(to + j * padded + n, to + (j + 1) * padded, T(0));
  }
}

template <class T>
void unpack_rows(T* to, int64_t d, const T* from, int64_t padded, int64_t n, int64_t width) {
  for (int64_t i = 0; i < n; ++i) std::copy_n(from + i * padded, width, to + i * d);
}

// Where one head of one segment lies, and how far its queries see.
struct Head {
  int64_t index, width, d;       // head, features per head, features of a row
  int64_t first_query, queries;  // rows
  int64_t first_key, keys;
  bool causal;
  int64_t visible(int64_t query) const {  // keys seen by the segment's query
    return causal ? std::clamp<int64_t>(query + 1 + keys - queries, 0, keys) : keys;
  }
};

// Dropout on the weights of one query: weight j of (head, query row) takes word j of its own run of the stream.
class WeightDropout {
 public:
  WeightDropout(const DropoutMask& mask, int64_t query_rows, int64_t longest)
      : mask_(mask), rows_(query_rows), blocks_((longest + kPhiloxWords - 1) / kPhiloxWords) {}
  bool active() const { return mask_.rate > 0; }

  // weights[j] *= keep / (1 - rate), j < n
  template <class T>
  void apply(T* weights, int64_t n, int64_t head, int64_t query_row) const {
    const T factor = T(1 / (1 - mask_.rate));
    const uint32_t threshold = dropout_threshold(mask_.rate);
    const uint64_t first = uint64_t((head * rows_ + query_row) * blocks_);
    uint32_t words[kPhiloxWords];
    for (int64_t b = 0; b * kPhiloxWords < n; ++b) {
      philox_block(words, mask_.seed, mask_.stream, (first + uint64_t(b)) * kPhiloxLanes);
      T* w = weights + b * kPhiloxWords;
      const int64_t count = std::min<int64_t>(kPhiloxWords, n - b * kPhiloxWords);
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) w[j] *= T(int(words[j] >= threshold)) * factor;
    }
  }

 private:
  DropoutMask mask_;
  int64_t rows_, blocks_;
};

// Calls f(head, scratch) for every head of every segment, in parallel; the longest segments first are not needed:
// batches hold segments of like length.
template <class T, class F>
void for_each_head(const Segments& queries, const Segments& keys, int64_t d, const AttentionShape& shape, F&& f) {
  const int64_t heads = shape.heads, jobs = int64_t(queries.count()) * heads;
  const bool worth_threads = int64_t(queries.tokens()) * d * std::max(1, keys.longest()) > 32768;
#pragma omp parallel if (worth_threads)
  {
    Scratch<T> scratch;
#pragma omp for schedule(dynamic, 4)
    for (int64_t job = 0; job < jobs; ++job) {
      const int s = int(job / heads);
      f(Head{job % heads, d / heads, d, queries.begin(s), queries.length(s), keys.begin(s), keys.length(s),
             shape.causal},
        scratch);
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
