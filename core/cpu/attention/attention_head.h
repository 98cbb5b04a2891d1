// Shared by the forward and the backward of attention: the rows and the mask of one head of one segment, dropout of its
// weights, and the parallel loop over all heads.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "gyre/core/cpu/attention/softmax_lanes.h"
#include "gyre/core/cpu/head_tiles.h"
#include "gyre/core/cpu/philox_block.h"
#include "gyre/core/cpu/rotation.h"
#include "gyre/core/memory.h"
#include "gyre/core/parallel_for.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Number of queries per block: two chunks of a tile of scores(keys, queries). The queries are in the lanes, so that
// maxima and sums over keys need no shuffles.
template <class T>
constexpr int64_t kQueryBlock = 2 * kLanes<T>;

// One head of one segment: its rows and columns, and its mask.
struct SegmentHead {
  int64_t index, key_head;       // head of the queries, and of the keys and values
  int64_t width;                 // features per head
  int64_t first_query, queries;  // rows
  int64_t first_key, keys;
  int64_t back, ahead;  // largest visible distances to earlier and later keys

  int64_t feature() const { return index * width; }                         // first column of the head
  int64_t key_feature() const { return key_head * width; }                  // first feature of its keys and values
  int64_t position(int64_t query) const { return query + keys - queries; }  // position of a query among the keys
  // Query `query` of the segment attends to the keys [seen_from, seen_to).
  int64_t seen_from(int64_t query) const { return std::clamp<int64_t>(position(query) - back, 0, keys); }
  int64_t seen_to(int64_t query) const { return std::clamp<int64_t>(position(query) + ahead + 1, 0, keys); }
};

inline SegmentHead head_of(const AttentionCall& call, int s, int64_t index, int64_t width) {
  return {index,
          index / call.shape.group(),
          width,
          call.queries.begin(s),
          call.queries.length(s),
          call.keys.begin(s),
          call.keys.length(s),
          call.shape.window,
          call.shape.causal ? 0 : call.shape.window};
}

// A block of queries of a head, and the range of keys that it needs. Row j of a tile of scores is key `first` + j.
template <class T>
struct QueryBlock {
  int64_t begin, count;      // queries of the segment
  int64_t position;          // position of the first query among the keys
  int64_t first;             // first key that a query sees, rounded down to a multiple of the lanes
  int64_t keys;              // number of keys up to the last one that a query sees, rounded up to even if possible
  VisibleKeys<T> by_chunk0;  // keys visible to the lanes of the first chunk

  QueryBlock(const SegmentHead& h, int64_t begin, int64_t count)
      : begin(begin),
        count(count),
        position(h.position(begin)),
        first(h.seen_from(begin) / kLanes<T> * kLanes<T>),
        keys(std::max<int64_t>(0, std::min(h.keys, round_up(h.seen_to(begin + count - 1), 2)) - first)),
        by_chunk0{.keys = keys,
                  .all_from = h.seen_from(begin + count - 1) - first,
                  .all_to = h.seen_to(begin) - first,
                  .low = std::max(position - h.back, -kQueryBlock<T>) - first,
                  .edge = std::min(position + h.ahead + 1, h.keys) - first} {}

  int64_t chunks() const { return (count + kLanes<T> - 1) / kLanes<T>; }
  VisibleKeys<T> keys_of(int64_t chunk) const {
    VisibleKeys<T> visible = by_chunk0;
    visible.low += chunk * kLanes<T>;
    visible.edge += chunk * kLanes<T>;
    return visible;
  }
};

// Calls f(block) for each block of queries of the head, in order.
template <class T, class F>
void for_each_query_block(const SegmentHead& h, const F& f) {
  for (int64_t begin = 0; begin < h.queries; begin += kQueryBlock<T>)
    f(QueryBlock<T>(h, begin, std::min(kQueryBlock<T>, h.queries - begin)));
}

template <class T>
int64_t chunks_of(int64_t columns) {
  return (columns + kLanes<T> - 1) / kLanes<T>;
}

// Memory of one thread for its tiles, reused by later calls.
template <class T>
class TileMemory {
 public:
  // Returns Tiles(*this, arguments..). Its constructor allocates the tiles with take(), one after another.
  template <class Tiles, class... Arguments>
  Tiles lay_out(const Arguments&... arguments) {
    used_ = 0;
    const Tiles tiles(*this, arguments...);
    if (used_ <= capacity_) return tiles;
    memory_ = allocate(size_t(used_) * sizeof(T));
    capacity_ = used_;
    std::fill_n(static_cast<T*>(memory_.get()), capacity_, T(0));
    return lay_out<Tiles>(arguments...);
  }

  // A tile of T, or of another type of the same size.
  template <class Element = T>
  Tile<Element> take(int64_t rows, int64_t columns) {
    static_assert(sizeof(Element) == sizeof(T));
    // Avoids chunks whose size is a multiple of a page, because they would compete for the same cache sets.
    const int64_t even = round_up(rows, 2), padded = even % 32 == 0 ? even + 2 : even;
    const int64_t begin = std::exchange(used_, used_ + padded * chunks_of<T>(columns) * kLanes<T>);
    return {used_ <= capacity_ ? static_cast<Element*>(memory_.get()) + begin : nullptr, padded};
  }

 private:
  std::shared_ptr<void> memory_;
  int64_t capacity_ = 0, used_ = 0;
};

// Dropout of the attention weights: the factors, 0 or 1 / (1 - rate), of a tile of scores.
class WeightDropout {
 public:
  explicit WeightDropout(const AttentionCall& call)
      : mask_(call.shape.dropout), key_rows_(call.k.rows.rows()), run_(round_up(call.queries.longest(), 16)) {}
  bool active() const { return mask_.rate > 0; }

  template <class T>
  void fill(Tile<T> factors, const SegmentHead& h, const QueryBlock<T>& block) const {
    const int64_t chunks = block.chunks();
    const int64_t first = (h.index * key_rows_ + h.first_key + block.first) * run_ + block.begin;
    if (chunks == 1 && run_ == kLanes<T>) {  // short segments: the random numbers of all keys are contiguous
      for (int64_t j = 0; j < block.keys; j += kWords / kLanes<T>) step(factors.at(j, 0), first + j * run_);
      return;
    }
    alignas(kVectorBytes) T numbers[kWords];
    for (int64_t j = 0; j < block.keys; ++j) {
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

// Calls f(head, tiles, job) for each head of each segment, in parallel; one thread runs `together` consecutive heads of
// a segment in their order. Tiles is the workspace of a thread, constructed from (memory, a head of the maximum size,
// size_inputs), where `size_inputs` are further inputs to the sizes.
template <class Tiles, class SizeInputs, class F>
void for_each_head(const AttentionCall& call, int64_t width, int64_t together, const SizeInputs& size_inputs, F&& f) {
  using T = typename Tiles::Element;
  const int64_t heads = call.shape.heads, jobs = int64_t(call.queries.count()) * heads;
  const int64_t longest_queries = call.queries.longest(), longest_keys = call.keys.longest();
  // Multiply-adds per job, including packing. A thread takes jobs for some microseconds at a time.
  const int64_t work = (longest_queries * longest_keys + 16 * (longest_queries + longest_keys)) * width;
  const int64_t chunk = std::max<int64_t>(1, 8 * worth_a_thread() / std::max<int64_t>(1, work));
  ThreadFailure failure;
#pragma omp parallel if (jobs * work > 16 * worth_a_thread())
  {
    static thread_local TileMemory<T> memory;
    const SegmentHead longest{0, 0, width, 0, longest_queries, 0, longest_keys, call.shape.window, call.shape.window};
    std::optional<Tiles> tiles;
    failure.guard([&] { tiles.emplace(memory.template lay_out<Tiles>(longest, size_inputs)); });
#pragma omp for schedule(dynamic, chunk)
    for (int64_t first = 0; first < jobs; first += together) {
      for (int64_t job = first; tiles && job < first + together; ++job)
        f(head_of(call, int(job / heads), job % heads, width), std::as_const(*tiles), job);
    }
  }
  failure.rethrow();
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
