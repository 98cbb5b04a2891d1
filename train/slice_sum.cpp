#include "train/slice_sum.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "core/bfloat16.h"
#include "core/error.h"
#include "train/shard_tree.h"

namespace gyre {
namespace {

std::vector<int64_t> times(std::vector<int64_t> ends, int64_t factor) {
  for (int64_t& end : ends) end *= factor;
  return ends;
}

void pack(const float* from, int64_t n, DType wire, std::byte* to) {
  if (wire == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    auto* const out = reinterpret_cast<bfloat16*>(to);
    for (int64_t i = 0; i < n; ++i) out[i] = from[i];
  }
}

void unpack(const std::byte* from, int64_t n, DType wire, float* to) {
  if (wire == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    const auto* const in = reinterpret_cast<const bfloat16*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = float(in[i]);
  }
}

// Adds up the slices of all whole nodes of all ranks in the order of the tree, some at a time: they stay in the cache.
class TreeAdder {
 public:
  static constexpr int64_t kMost = 2048;

  TreeAdder(int shards, int ranks) : shards_(shards) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const ShardRange node : whole_nodes(shards, shards_of_rank(shards, ranks, rank))) nodes_.push_back(node);
    }
  }

  // parts[i]: of node i, n elements each.
  void add(const std::vector<const std::byte*>& parts, int64_t n, DType wire, float* out) const {
    const auto size = int64_t(dtype_bytes(wire));
    std::vector<const std::byte*> at(parts);
    for (int64_t done = 0; done < n; done += kMost) {
      const int64_t count = std::min(kMost, n - done);
      add_node({0, shards_}, at, count, wire, out + done);
      for (const std::byte*& part : at) part += count * size;
    }
  }

 private:
  void add_node(ShardRange node, const std::vector<const std::byte*>& at, int64_t n, DType wire, float* out) const {
    const auto found = std::find(nodes_.begin(), nodes_.end(), node);
    if (found != nodes_.end()) return unpack(at[size_t(found - nodes_.begin())], n, wire, out);
    const int middle = tree_split(node.begin, node.end);
    std::array<float, kMost> right;
    add_node({node.begin, middle}, at, n, wire, out);
    add_node({middle, node.end}, at, n, wire, right.data());
    for (int64_t i = 0; i < n; ++i) out[i] += right[size_t(i)];
  }

  int shards_;
  std::vector<ShardRange> nodes_;  // of all ranks, in shard order
};

// Bytes that are kept, and not filled, when more are needed.
class Buffer {
 public:
  std::byte* room_for(int64_t bytes) {
    if (bytes > bytes_) {
      data_ = std::make_unique_for_overwrite<std::byte[]>(size_t(bytes));
      bytes_ = bytes;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<std::byte[]> data_;
  int64_t bytes_ = 0;
};

class SliceSum final : public RangeSum {
 public:
  SliceSum(Communicator& ranks, const SliceSumOptions& options)
      : ranks_(ranks), options_(options), adder_(options.shards, ranks.size()) {
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const ShardRange own = shards_of_rank(options.shards, ranks.size(), rank);
      nodes_of_.push_back(int64_t(whole_nodes(options.shards, own).size()));
    }
    for (Flight& flight : flights_) idle_.push_back(&flight);
  }

  void start(const std::vector<Tensor>& parts) override {
    std::vector<Tensor> on_cpu;
    for (const Tensor& part : parts) on_cpu.push_back(part.to_cpu());
    if (parts.back().device() != Device{}) arrived_.emplace_back(parts.back(), on_cpu.back());
    ranks_.undisturbed([&] {
      waiting_.push_back(std::move(on_cpu));
      if (!idle_.empty()) depart();
    });
  }
  void progress() override { ranks_.progress(); }
  void finish() override {
    ranks_.finish();
    for (const auto& [device, host] : arrived_) device.copy_from(host);
    arrived_.clear();
  }

 private:
  struct Flight {
    std::vector<Tensor> parts;
    std::vector<int64_t> ends;  // of the slices, in elements
    Buffer sent, received;
    int64_t begin(int rank) const { return rank == 0 ? 0 : ends[size_t(rank) - 1]; }
    int64_t size(int rank) const { return ends[size_t(rank)] - begin(rank); }
    int64_t size() const { return ends.back(); }
    float* sum() const { return parts.back().data<float>(); }
  };
  int64_t wire_size() const { return int64_t(dtype_bytes(options_.wire)); }

  void depart() {
    Flight* const flight = idle_.back();
    idle_.pop_back();
    flight->parts = std::move(waiting_.front());
    waiting_.pop_front();
    flight->ends = slice_ends(flight->parts.back().size(), ranks_.size());
    const Pieces<const std::byte> send = pack_parts(*flight);
    const Pieces<std::byte> receive = place_parts(*flight);
    ranks_.start_all_to_all(send, receive, [this, flight] { add_parts(*flight); });
  }

  // For each rank in turn its slice of each of this rank's parts: a single one lies so already.
  Pieces<const std::byte> pack_parts(Flight& flight) const {
    const auto parts = int64_t(flight.parts.size());
    if (parts == 1 && options_.wire == DType::f32)
      return {reinterpret_cast<const std::byte*>(flight.sum()), times(flight.ends, wire_size())};
    std::byte* const data = flight.sent.room_for(flight.size() * parts * wire_size());
    std::byte* to = data;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      for (const Tensor& part : flight.parts) {
        pack(part.data<float>() + flight.begin(rank), flight.size(rank), options_.wire, to);
        to += flight.size(rank) * wire_size();
      }
    }
    return {data, times(flight.ends, parts * wire_size())};
  }

  // Room for this rank's slice of each part of every rank.
  Pieces<std::byte> place_parts(Flight& flight) const {
    const int64_t bytes = flight.size(ranks_.rank()) * wire_size();
    std::vector<int64_t> ends;
    for (const int64_t nodes : nodes_of_) ends.push_back((ends.empty() ? 0 : ends.back()) + nodes * bytes);
    std::byte* const data = flight.received.room_for(ends.back());
    return {data, std::move(ends)};
  }

  void add_parts(Flight& flight) {
    const int64_t n = flight.size(ranks_.rank()), begin = flight.begin(ranks_.rank());
    std::vector<const std::byte*> parts(size_t(std::accumulate(nodes_of_.begin(), nodes_of_.end(), int64_t{0})));
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = flight.received.room_for(0) + int64_t(i) * n * wire_size();
    adder_.add(parts, n, options_.wire, flight.sum() + begin);
    if (options_.sharded) return arrive(flight);
    auto* gathered = reinterpret_cast<std::byte*>(flight.sum());
    if (options_.wire != DType::f32) {  // what was sent has been read: its buffer is free
      gathered = flight.sent.room_for(flight.size() * wire_size());
      pack(flight.sum() + begin, n, options_.wire, gathered + begin * wire_size());
    }
    ranks_.start_all_gather({gathered, times(flight.ends, wire_size())}, [this, &flight, gathered] {
      if (options_.wire != DType::f32) unpack(gathered, flight.size(), options_.wire, flight.sum());
      arrive(flight);
    });
  }

  void arrive(Flight& flight) {
    flight.parts.clear();
    idle_.push_back(&flight);
    if (!waiting_.empty()) depart();
  }

  Communicator& ranks_;
  SliceSumOptions options_;
  TreeAdder adder_;
  std::vector<int64_t> nodes_of_;  // whole nodes, by rank
  // What waits and what is under way: no more memory is taken than for so many ranges.
  std::array<Flight, 4> flights_;
  std::vector<Flight*> idle_;
  std::deque<std::vector<Tensor>> waiting_;
  std::vector<std::pair<Tensor, Tensor>> arrived_;  // on the GPU, on the CPU
};

}  // namespace

std::vector<int64_t> slice_ends(int64_t n, int ranks) {
  const int64_t blocks = squares_blocks(n);
  std::vector<int64_t> ends;
  for (int64_t rank = 1; rank <= ranks; ++rank) ends.push_back(std::min(n, blocks * rank / ranks * kSquaresBlock));
  return ends;
}

void share_slices(Communicator& ranks, const std::vector<Tensor>& ranges) {
  std::vector<Tensor> on_cpu;
  for (const Tensor& range : ranges) {
    on_cpu.push_back(range.to_cpu());
    auto* const bytes = reinterpret_cast<std::byte*>(on_cpu.back().data<float>());
    ranks.start_all_gather({bytes, times(slice_ends(range.size(), ranks.size()), sizeof(float))}, [] {});
  }
  ranks.finish();
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].device() != Device{}) ranges[i].copy_from(on_cpu[i]);
  }
}

std::unique_ptr<RangeSum> make_slice_sum(Communicator& ranks, const SliceSumOptions& options) {
  return std::make_unique<SliceSum>(ranks, options);
}

}  // namespace gyre
