#include "gyre/train/parallel/reduce_scatter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "gyre/core/bfloat16.h"
#include "gyre/core/error.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {
namespace {

std::vector<int64_t> times(std::vector<int64_t> ends, int64_t factor) {
  for (int64_t& end : ends) end *= factor;
  return ends;
}

void pack(const float* from, int64_t n, DType comm_dtype, std::byte* to) {
  if (comm_dtype == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    auto* const out = reinterpret_cast<bfloat16*>(to);
    for (int64_t i = 0; i < n; ++i) out[i] = from[i];
  }
}

void unpack(const std::byte* from, int64_t n, DType comm_dtype, float* to) {
  if (comm_dtype == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    const auto* const in = reinterpret_cast<const bfloat16*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = float(in[i]);
  }
}

// Adds the slices of all ranks' maximal subtrees in the order of the tree, kChunk elements at a time, so that the data
// stay in the cache.
class TreeAdder {
 public:
  static constexpr int64_t kChunk = 2048;

  TreeAdder(int micro_batches, int ranks) : micro_batches_(micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const MicroBatchRange node :
           maximal_subtrees(micro_batches, micro_batches_of_rank(micro_batches, ranks, rank)))
        nodes_.push_back(node);
    }
  }

  // parts[i]: the n elements of node i.
  void add(const std::vector<const std::byte*>& parts, int64_t n, DType comm_dtype, float* out) const {
    const auto size = int64_t(dtype_bytes(comm_dtype));
    std::vector<const std::byte*> at(parts);
    for (int64_t done = 0; done < n; done += kChunk) {
      const int64_t count = std::min(kChunk, n - done);
      add_node({0, micro_batches_}, at, count, comm_dtype, out + done);
      for (const std::byte*& part : at) part += count * size;
    }
  }

 private:
  void add_node(MicroBatchRange node, const std::vector<const std::byte*>& at, int64_t n, DType comm_dtype,
                float* out) const {
    const auto found = std::find(nodes_.begin(), nodes_.end(), node);
    if (found != nodes_.end()) return unpack(at[size_t(found - nodes_.begin())], n, comm_dtype, out);
    const int middle = tree_split(node.begin, node.end);
    std::array<float, kChunk> right;
    add_node({node.begin, middle}, at, n, comm_dtype, out);
    add_node({middle, node.end}, at, n, comm_dtype, right.data());
    for (int64_t i = 0; i < n; ++i) out[i] += right[size_t(i)];
  }

  int micro_batches_;
  std::vector<MicroBatchRange> nodes_;  // of all ranks, in micro-batch order
};

// A reusable buffer that grows on demand. Growing discards its contents.
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

class ReduceScatter final : public AsyncAllReduce {
 public:
  ReduceScatter(Communicator& ranks, const ReduceScatterOptions& options)
      : ranks_(ranks), options_(options), adder_(options.micro_batches, ranks.size()) {
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const MicroBatchRange own = micro_batches_of_rank(options.micro_batches, ranks.size(), rank);
      subtrees_of_.push_back(int64_t(maximal_subtrees(options.micro_batches, own).size()));
    }
    for (Transfer& transfer : transfers_) idle_.push_back(&transfer);
  }

  void start(const std::vector<Tensor>& parts, int owner) override {
    Waiting on_cpu{{}, options_.sharded ? owner : kSharedByRanks};
    for (const Tensor& part : parts) on_cpu.parts.push_back(part.to_cpu());
    if (parts.back().device() != Device{}) received_.emplace_back(parts.back(), on_cpu.parts.back());
    ranks_.with_callbacks_paused([&] {
      waiting_.push_back(std::move(on_cpu));
      if (!idle_.empty()) launch();
    });
  }
  void progress() override { ranks_.progress(); }
  void finish() override {
    ranks_.finish();
    for (const auto& [device, host] : received_) device.copy_from(host);
    received_.clear();
  }

 private:
  struct Waiting {
    std::vector<Tensor> parts;
    int owner;
  };
  struct Transfer {
    std::vector<Tensor> parts;
    std::vector<int64_t> ends;  // of the slices, in elements
    Buffer sent, received;
    int64_t begin(int rank) const { return rank == 0 ? 0 : ends[size_t(rank) - 1]; }
    int64_t size(int rank) const { return ends[size_t(rank)] - begin(rank); }
    int64_t size() const { return ends.back(); }
    float* sum() const { return parts.back().data<float>(); }
  };
  int64_t comm_dtype_bytes() const { return int64_t(dtype_bytes(options_.comm_dtype)); }

  void launch() {
    Transfer* const transfer = idle_.back();
    idle_.pop_back();
    const auto [parts, owner] = std::move(waiting_.front());
    waiting_.pop_front();
    transfer->parts = parts;
    transfer->ends = shard_ends(parts.back().size(), ranks_.size(), owner);
    const SplitBuffer<const std::byte> send = pack_parts(*transfer);
    const SplitBuffer<std::byte> receive = place_parts(*transfer);
    ranks_.start_all_to_all(send, receive, [this, transfer] { add_parts(*transfer); });
  }

  // Orders the slices of this rank's parts by receiving rank. A single fp32 part already has this order.
  SplitBuffer<const std::byte> pack_parts(Transfer& transfer) const {
    const auto parts = int64_t(transfer.parts.size());
    if (parts == 1 && options_.comm_dtype == DType::f32)
      return {reinterpret_cast<const std::byte*>(transfer.sum()), times(transfer.ends, comm_dtype_bytes())};
    std::byte* const data = transfer.sent.room_for(transfer.size() * parts * comm_dtype_bytes());
    std::byte* to = data;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      for (const Tensor& part : transfer.parts) {
        pack(part.data<float>() + transfer.begin(rank), transfer.size(rank), options_.comm_dtype, to);
        to += transfer.size(rank) * comm_dtype_bytes();
      }
    }
    return {data, times(transfer.ends, parts * comm_dtype_bytes())};
  }

  // Reserves memory for this rank's slice of every rank's parts.
  SplitBuffer<std::byte> place_parts(Transfer& transfer) const {
    const int64_t bytes = transfer.size(ranks_.rank()) * comm_dtype_bytes();
    std::vector<int64_t> ends;
    for (const int64_t nodes : subtrees_of_) ends.push_back((ends.empty() ? 0 : ends.back()) + nodes * bytes);
    std::byte* const data = transfer.received.room_for(ends.back());
    return {data, std::move(ends)};
  }

  void add_parts(Transfer& transfer) {
    const int64_t n = transfer.size(ranks_.rank()), begin = transfer.begin(ranks_.rank());
    std::vector<const std::byte*> parts(size_t(std::accumulate(subtrees_of_.begin(), subtrees_of_.end(), int64_t{0})));
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i] = transfer.received.room_for(0) + int64_t(i) * n * comm_dtype_bytes();
    adder_.add(parts, n, options_.comm_dtype, transfer.sum() + begin);
    if (options_.sharded) return complete(transfer);
    auto* gathered = reinterpret_cast<std::byte*>(transfer.sum());
    if (options_.comm_dtype != DType::f32) {  // the all-to-all has ended: its send buffer is free
      gathered = transfer.sent.room_for(transfer.size() * comm_dtype_bytes());
      pack(transfer.sum() + begin, n, options_.comm_dtype, gathered + begin * comm_dtype_bytes());
    }
    ranks_.start_all_gather({gathered, times(transfer.ends, comm_dtype_bytes())}, [this, &transfer, gathered] {
      if (options_.comm_dtype != DType::f32) unpack(gathered, transfer.size(), options_.comm_dtype, transfer.sum());
      complete(transfer);
    });
  }

  void complete(Transfer& transfer) {
    transfer.parts.clear();
    idle_.push_back(&transfer);
    if (!waiting_.empty()) launch();
  }

  Communicator& ranks_;
  ReduceScatterOptions options_;
  TreeAdder adder_;
  std::vector<int64_t> subtrees_of_;  // number of maximal subtrees, by rank
  // The transfers in progress; further ranges wait. Their number bounds the memory for buffers.
  std::array<Transfer, 4> transfers_;
  std::vector<Transfer*> idle_;
  std::deque<Waiting> waiting_;
  std::vector<std::pair<Tensor, Tensor>> received_;  // tensor on the GPU, its copy on the CPU
};

}  // namespace

std::vector<int64_t> shard_ends(int64_t n, int ranks, int owner) {
  const int64_t blocks = squares_blocks(n);
  std::vector<int64_t> ends;
  if (owner != kSharedByRanks) {
    for (int rank = 0; rank < ranks; ++rank) ends.push_back(rank < owner ? 0 : n);
    return ends;
  }
  for (int64_t rank = 1; rank <= ranks; ++rank) ends.push_back(std::min(n, blocks * rank / ranks * kSquaresBlock));
  return ends;
}

void all_gather_shards(Communicator& ranks, const std::vector<ShardedRange>& ranges) {
  std::vector<Tensor> on_cpu;
  for (const auto& [values, owner] : ranges) {
    on_cpu.push_back(values.to_cpu());
    auto* const bytes = reinterpret_cast<std::byte*>(on_cpu.back().data<float>());
    ranks.start_all_gather({bytes, times(shard_ends(values.size(), ranks.size(), owner), sizeof(float))}, [] {});
  }
  ranks.finish();
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].values.device() != Device{}) ranges[i].values.copy_from(on_cpu[i]);
  }
}

std::unique_ptr<AsyncAllReduce> make_reduce_scatter(Communicator& ranks, const ReduceScatterOptions& options) {
  return std::make_unique<ReduceScatter>(ranks, options);
}

}  // namespace gyre
