// What forward and backward of attention share: one head of one segment, its causal edge, dropout on its weights, and
// the loop over all of them.
#pragma once

#include <algorithm>

#include "core/cpu/head_tiles.h"
#include "core/cpu/philox_block.h"
#include "core/cpu/rotation.h"
#include "core/cpu/softmax_lanes.h"
#include "core/memory.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Queries worked on at a time: two chunks of a tile of scores(keys, queries). Scores stand with queries in the lanes,
// so that maxima and sums over keys need no shuffles.
template <class T>
constexpr int64_t kQueryBlock = 2 * kLanes<T>;

// Where one head of one segment lies, and how far its queries see.
struct Head {
  int64_t index, width;          // head, features per head
  int64_t first_query, queries;  // rows
  int64_t first_key, keys;
  bool causal;

  int64_t feature() const { return index * width; }
  int64_t visible(int64_t query) const {  // keys seen by the segment's query
    return causal ? std::clamp<int64_t>(query + 1 + keys - queries, 0, keys) : keys;
  }
};

// A block of queries of a head, and the keys that it needs.
struct QueryBlock {
  int64_t begin, count;  // in the segment
  int64_t seen;          // keys that some query sees, rounded up to an even number as far as there are keys
  int64_t all_see;       // the first keys that every query sees
  int64_t edge;          // query i of the block sees the keys below i + edge

  QueryBlock(const Head& h, int64_t begin, int64_t count)
      : begin(begin),
        count(count),
        seen(std::min(h.keys, round_up(h.visible(begin + count - 1), 2))),
        all_see(h.visible(begin)),
        edge(h.causal ? begin + 1 + h.keys - h.queries : h.keys) {}

  template <class T>
  VisibleKeys<T> keys_of(int64_t chunk) const {
    return {seen, all_see, edge + chunk * kLanes<T>};
  }
};

// Calls f(block) for the head's queries in order.
template <class T, class F>
void for_each_query_block(const Head& h, const F& f) {
  for (int64_t begin = 0; begin < h.queries; begin += kQueryBlock<T>)
    f(QueryBlock(h, begin, std::min(kQueryBlock<T>, h.queries - begin)));
}

template <class T>
int64_t chunks_of(int64_t columns) {
  return (columns + kLanes<T> - 1) / kLanes<T>;
}

// Memory of one thread for the tiles that it works in; kept from call to call.
template <class T>
class TileMemory {
 public:
  // Tiles(*this, arguments..), which takes its tiles from here, one behind the other.
  template <class Tiles, class... Arguments>
  Tiles lay_out(Arguments... arguments) {
    used_ = 0;
    const Tiles tiles(*this, arguments...);
    if (used_ <= capacity_) return tiles;
    capacity_ = used_;
    memory_ = allocate(size_t(capacity_) * sizeof(T));
    std::fill_n(static_cast<T*>(memory_.get()), capacity_, T(0));
    return lay_out<Tiles>(arguments...);
  }

  Tile<T> take(int64_t rows, int64_t columns) {
    // Chunks keep off multiples of a page: they would crowd each other out of the cache.
    const int64_t even = round_up(rows, 2), padded = even % 32 == 0 ? even + 2 : even;
    const int64_t begin = std::exchange(used_, used_ + padded * chunks_of<T>(columns) * kLanes<T>);
    return {used_ <= capacity_ ? static_cast<T*>(memory_.get()) + begin : nullptr, padded};
  }

 private:
  std::shared_ptr<void> memory_;
  int64_t capacity_ = 0, used_ = 0;
};

// Dropout on the weights: the factors, 0 or 1 / (1 - rate), of a tile of scores.
class WeightDropout {
 public:
  WeightDropout(const DropoutMask& mask, int64_t key_rows, int64_t longest_queries)
      : mask_(mask), key_rows_(key_rows), run_(round_up(longest_queries, 16)) {}
  bool active() const { return mask_.rate > 0; }

  template <class T>
  void fill(Tile<T> factors, const Head& h, const QueryBlock& block) const {
    const int64_t chunks = chunks_of<T>(block.count);
    const int64_t first = (h.index * key_rows_ + h.first_key) * run_ + block.begin;
    if (chunks == 1 && run_ == kLanes<T>) {  // short segments: the numbers of all keys follow one another
      for (int64_t j = 0; j < block.seen; j += kWords / kLanes<T>) step(factors.at(j, 0), first + j * run_);
      return;
    }
    alignas(kVectorBytes) T numbers[kWords];
    for (int64_t j = 0; j < block.seen; ++j) {
      for (int64_t word = 0; word < chunks * kLanes<T>; word += kWords) {
        step(numbers, first + j * run_ + word);
        for (int64_t lane = 0; lane < kWords && word + lane < chunks * kLanes<T>; lane += kLanes<T>)
          std::copy_n(numbers + lane, kLanes<T>, factors.at(j, (word + lane) / kLanes<T>));
      }
    }
  }

 private:
  static constexpr int64_t kWords = 4 * int64_t(kPhiloxStep);

  template <class T>
  void step(T* factors, int64_t first) const {
    uint32_t words[kWords];
    philox_step(words, mask_.seed, mask_.stream, uint64_t(first) / 4);
    const T factor = T(1 / (1 - mask_.rate));
    const uint32_t threshold = dropout_threshold(mask_.rate);
#pragma omp simd
    for (int64_t i = 0; i < kWords; ++i) factors[i] = T(int(words[i] >= threshold)) * factor;
  }

  DropoutMask mask_;
  int64_t key_rows_, run_;
};

// Calls f(head, tiles) for every head of every segment, in parallel. Tiles is what a thread works in: it is made from
// (memory, longest segment of keys, width).
template <class Tiles, class F>
void for_each_head(const Segments& queries, const Segments& keys, int64_t width, const AttentionShape& shape, F&& f) {
  using T = typename Tiles::Element;
  const int64_t heads = shape.heads, jobs = int64_t(queries.count()) * heads;
  const int64_t longest_queries = queries.longest(), longest_keys = keys.longest();
  // In multiply-adds, packing included; a thread takes some microseconds' worth at a time.
  const int64_t work = (longest_queries * longest_keys + 16 * (longest_queries + longest_keys)) * width;
  const int64_t chunk = std::max<int64_t>(1, 131072 / std::max<int64_t>(1, work));
#pragma omp parallel if (jobs * work > 262144)
  {
    static thread_local TileMemory<T> memory;
    const Tiles tiles = memory.template lay_out<Tiles>(longest_keys, width);
#pragma omp for schedule(dynamic, chunk)
    for (int64_t job = 0; job < jobs; ++job) {
      const int s = int(job / heads);
      f(Head{job % heads, width, queries.begin(s), queries.length(s), keys.begin(s), keys.length(s), shape.causal},
        tiles, job);
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
