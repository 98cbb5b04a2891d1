#include "gyre/train/parallel/all_reduce.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/hardware/cuda.h"
#include "gyre/train/parallel/routes.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/parallel/window_tasks.h"

namespace gyre {

namespace {

std::vector<int64_t> times(std::vector<int64_t> ends, int64_t factor) {
  for (int64_t& end : ends) end *= factor;
  return ends;
}

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

Machines one_rank_each(int ranks) {
  std::vector<int> own(static_cast<size_t>(ranks));
  std::iota(own.begin(), own.end(), 0);
  return Machines(std::move(own));
}

// Whether a window has room for the sums on every machine.
bool sums_fit_window(const Machines& machines, int tree_leaves) {
  const SumOrder order(machines, tree_leaves);
  size_t most_ranks = 0, most_parts = 0;
  for (int rank = 0; rank < machines.ranks(); ++rank) {
    most_ranks = std::max(most_ranks, machines.ranks_of(machines.machine_of(rank)).size());
    most_parts = std::max(most_parts, order.parts_of(rank).size());
  }
  return fits_window(int(most_ranks), int(most_parts));
}

// Collective. Without shared memory, every rank counts as a machine of its own.
Routes make_routes(Communicator& ranks, const AllReduceOptions& options) {
  const bool shared =
      options.shared_memory && ranks.shares_memory() && sums_fit_window(ranks.machines(), options.tree_leaves);
  return {shared ? ranks.machines() : one_rank_each(ranks.size()), ranks.rank()};
}

// Every rank receives the slices of which it is the agent from their ranks.
void gather_slices(Communicator& ranks, const Routes& routes, const SplitBuffer<std::byte>& slices,
                   Communicator::Callback callback) {
  if (routes.one_rank_each()) return ranks.start_all_gather(slices, std::move(callback));
  ranks.start_partial_gather(
      slices, [&](int from, int to) { return routes.sends_total(from, to); }, std::move(callback));
}

// Every rank of a machine receives the slices from their agents.
void spread_within_machine(Communicator& ranks, const Routes& routes, const Tensor& values,
                           const std::vector<int64_t>& ends, Communicator::Callback callback) {
  if (!routes.within_machine()) return callback();
  ranks.start_shared(Communicator::Lane::gathers, make_window_gather(routes.member(), routes.shares(ends), values),
                     std::move(callback));
}

class ReduceScatter final : public AsyncAllReduce {
 public:
  ReduceScatter(Communicator& ranks, const AllReduceOptions& options)
      : ranks_(ranks),
        options_(options),
        routes_(make_routes(ranks, options)),
        order_(routes_.machines(), options.tree_leaves),
        within_(order_.within(routes_.machine())),
        between_(order_.between()) {
    for (const int rank : routes_.members()) parts_of_member_.push_back(int(order_.parts_of(rank).size()));
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
    std::vector<Tensor> parts;  // parts of this rank, then the sums of its machine
    std::vector<int64_t> ends;  // ends of the slices, in elements
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
    routes_.within_machine() ? add_within_machine(*transfer) : exchange(*transfer);
  }

  // Replaces the parts by the sums of this machine.
  void add_within_machine(Transfer& transfer) {
    WindowSum sum{.rank = routes_.member(),
                  .shares = routes_.shares(transfer.ends),
                  .parts = transfer.parts,
                  .parts_of = parts_of_member_,
                  .adder = &within_,
                  .outputs = order_.sums_of(routes_.machine()),
                  // With several machines, bf16 rounds the parts of machines instead of those of ranks.
                  .comm_dtype = routes_.between_machines() ? DType::f32 : options_.comm_dtype,
                  .gathers = !routes_.between_machines() && !options_.sharded};
    while (sum.sums.size() + 1 < sum.outputs.size()) sum.sums.push_back(Tensor::empty({transfer.size()}));
    sum.sums.push_back(transfer.parts.back());
    transfer.parts = sum.sums;
    ranks_.start_shared(Communicator::Lane::sums, make_window_sum(std::move(sum)),
                        [this, &transfer] { routes_.between_machines() ? exchange(transfer) : complete(transfer); });
  }

  void exchange(Transfer& transfer) {
    const SplitBuffer<const std::byte> send = pack_parts(transfer);
    const SplitBuffer<std::byte> receive = place_parts(transfer);
    ranks_.start_all_to_all(send, receive, [this, &transfer] { add_parts(transfer); });
  }

  // Orders the slices of the parts by receiving rank. A single fp32 part that all ranks receive already has this order.
  SplitBuffer<const std::byte> pack_parts(Transfer& transfer) const {
    const auto parts = int64_t(transfer.parts.size());
    if (parts == 1 && options_.comm_dtype == DType::f32 && routes_.one_rank_each())
      return {reinterpret_cast<const std::byte*>(transfer.sum()), times(transfer.ends, comm_dtype_bytes())};
    std::byte* const data = transfer.sent.room_for(transfer.size() * parts * comm_dtype_bytes());
    std::byte* to = data;
    std::vector<int64_t> ends;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      for (const Tensor& part : transfer.parts) {
        if (!routes_.sends_sums_to(rank)) continue;
        pack(part.data<float>() + transfer.begin(rank), transfer.size(rank), options_.comm_dtype, to);
        to += transfer.size(rank) * comm_dtype_bytes();
      }
      ends.push_back(to - data);
    }
    return {data, std::move(ends)};
  }

  // Reserves memory for this rank's slice of every machine's sums.
  SplitBuffer<std::byte> place_parts(Transfer& transfer) const {
    const Machines& machines = routes_.machines();
    const int64_t bytes = transfer.size(ranks_.rank()) * comm_dtype_bytes();
    std::vector<int64_t> ends;
    int64_t end = 0;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const int machine = machines.machine_of(rank);
      if (routes_.sender_of(machine) == rank) end += int64_t(order_.sums_of(machine).size()) * bytes;
      ends.push_back(end);
    }
    std::byte* const data = transfer.received.room_for(end);
    return {data, std::move(ends)};
  }

  void add_parts(Transfer& transfer) {
    const int64_t n = transfer.size(ranks_.rank()), begin = transfer.begin(ranks_.rank());
    const SplitBuffer<std::byte> received = place_parts(transfer);
    std::vector<const std::byte*> parts;
    for (int machine = 0; machine < routes_.machines().count(); ++machine) {
      const std::byte* const first = received.data + received.begin(routes_.sender_of(machine));
      for (size_t i = 0; i < order_.sums_of(machine).size(); ++i)
        parts.push_back(first + int64_t(i) * n * comm_dtype_bytes());
    }
    between_.add(order_.total(), parts, n, options_.comm_dtype, transfer.sum() + begin);
    options_.sharded ? complete(transfer) : gather(transfer);
  }

  void gather(Transfer& transfer) {
    const int64_t n = transfer.size(ranks_.rank()), begin = transfer.begin(ranks_.rank());
    auto* gathered = reinterpret_cast<std::byte*>(transfer.sum());
    if (options_.comm_dtype != DType::f32) {  // the all-to-all has ended: its send buffer is free
      gathered = transfer.sent.room_for(transfer.size() * comm_dtype_bytes());
      pack(transfer.sum() + begin, n, options_.comm_dtype, gathered + begin * comm_dtype_bytes());
    }
    gather_slices(ranks_, routes_, {gathered, times(transfer.ends, comm_dtype_bytes())}, [this, &transfer, gathered] {
      if (options_.comm_dtype != DType::f32) unpack(gathered, transfer.size(), options_.comm_dtype, transfer.sum());
      spread_within_machine(ranks_, routes_, transfer.parts.back(), transfer.ends, [&] { complete(transfer); });
    });
  }

  void complete(Transfer& transfer) {
    transfer.parts.clear();
    idle_.push_back(&transfer);
    if (!waiting_.empty()) launch();
  }

  Communicator& ranks_;
  AllReduceOptions options_;
  Routes routes_;
  SumOrder order_;
  TreeAdder within_, between_;
  std::vector<int> parts_of_member_;
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

void all_gather_shards(Communicator& ranks, const std::vector<ShardedRange>& ranges, bool shared_memory) {
  const Routes routes = make_routes(ranks, {.shared_memory = shared_memory});
  std::vector<Tensor> on_cpu;
  for (const auto& [values, owner] : ranges) {
    on_cpu.push_back(values.to_cpu());
    const Tensor all = on_cpu.back();
    const std::vector<int64_t> ends = shard_ends(values.size(), ranks.size(), owner);
    const auto spread = [&ranks, &routes, all, ends] { spread_within_machine(ranks, routes, all, ends, [] {}); };
    if (routes.between_machines()) {
      gather_slices(ranks, routes, {reinterpret_cast<std::byte*>(all.data<float>()), times(ends, sizeof(float))},
                    spread);
    } else {
      spread();
    }
  }
  ranks.finish();
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].values.device() != Device{}) ranges[i].values.copy_from(on_cpu[i]);
  }
}

std::unique_ptr<AsyncAllReduce> make_reduce_scatter(Communicator& ranks, const AllReduceOptions& options) {
  return std::make_unique<ReduceScatter>(ranks, options);
}

namespace {

// Names two ranks with the same GPU; empty if there are none.
std::string shared_gpu(const std::vector<std::string>& gpus) {
  std::map<std::string, size_t> users;
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    const auto [first, is_new] = users.emplace(gpus[rank], rank);
    if (!is_new)
      return concat("ranks ", first->second, " and ", rank,
                    " share a GPU: start one rank per GPU, and let it see all GPUs of its machine or one of its own "
                    "(CUDA_VISIBLE_DEVICES, srun --gpus-per-task=1)");
  }
  return "";
}

// On rank 0: the reason why NCCL cannot use the ranks' GPUs, empty if it can.
std::string nccl_obstacle(Communicator& ranks, int gpu) {
  const std::vector<std::string> gpus = ranks.gather(cuda_uuid(gpu), 0), problems = ranks.gather(nccl_problem(), 0);
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  return shared_gpu(gpus);
}

// The slices of a range, one per rank (shard_ends()).
std::vector<Tensor> slices_of(const Tensor& range, int ranks, int owner) {
  std::vector<Tensor> slices;
  int64_t begin = 0;
  for (const int64_t end : shard_ends(range.size(), ranks, owner)) {
    slices.push_back(range.slice(begin, end));
    begin = end;
  }
  return slices;
}

class GpuAllReduce final : public AsyncAllReduce {
 public:
  explicit GpuAllReduce(std::shared_ptr<GpuCollectives> gpus) : gpus_(std::move(gpus)) {}
  void start(const std::vector<Tensor>& parts, int /*owner*/) override {
    gpus_->begin();
    gpus_->all_reduce(parts.back());
  }
  void finish() override { gpus_->finish(); }

 private:
  std::shared_ptr<GpuCollectives> gpus_;
};

class GpuReduceScatter final : public AsyncAllReduce {
 public:
  GpuReduceScatter(std::shared_ptr<GpuCollectives> gpus, int rank, int ranks, const AllReduceOptions& options)
      : gpus_(std::move(gpus)), rank_(size_t(rank)), ranks_(ranks), options_(options) {}

  void start(const std::vector<Tensor>& parts, int owner_of_sharded) override {
    const int owner = options_.sharded ? owner_of_sharded : kSharedByRanks;
    const Tensor& sum = parts.back();
    const bool rounds = options_.comm_dtype == DType::bf16;
    const int64_t own = slices_of(sum, ranks_, owner)[rank_].size(), received_elements = ranks_ * own;
    const Tensor room = room_for(received_elements + (rounds ? sum.size() : 0), sum.device());
    const Tensor received = room.slice(0, received_elements).reshape({ranks_, own});
    const Tensor sent = rounds ? room.slice(received_elements, received_elements + sum.size()) : sum;
    const std::vector<Tensor> slices = slices_of(sent, ranks_, owner);
    std::vector<Tensor> rows;
    for (int rank = 0; rank < ranks_; ++rank) rows.push_back(received.slice(rank, rank + 1).reshape({own}));
    gpus_->begin();
    if (rounds) gpus_->add_parts(sent, sum.reshape({1, sum.size()}));
    gpus_->all_to_all(slices, rows);
    if (options_.sharded) {
      gpus_->add_parts(slices_of(sum, ranks_, owner)[rank_], received);
    } else {
      gpus_->add_parts(slices[rank_], received);
      gpus_->all_gather(slices);
      if (rounds) gpus_->add_parts(sum, sent.reshape({1, sent.size()}));  // widens
    }
  }
  void finish() override {
    gpus_->finish();
    rooms_.clear();
  }

 private:
  // Memory for at least `elements` in the communication dtype. Queued collectives run one after another, so that all of
  // them share one block. A block that becomes too small stays allocated until finish().
  Tensor room_for(int64_t elements, Device device) {
    largest_ = std::max(largest_, elements);
    if (rooms_.empty() || rooms_.back().size() < elements)
      rooms_.push_back(Tensor::empty({largest_}, options_.comm_dtype, device));
    return rooms_.back();
  }

  std::shared_ptr<GpuCollectives> gpus_;
  size_t rank_;
  int ranks_;
  AllReduceOptions options_;
  std::vector<Tensor> rooms_;  // the last one is in use
  int64_t largest_ = 0;        // the most elements that any sum has needed
};

// The connection of the GPUs, which the watchdog covers from the beginning to the end: both may wait for other ranks.
struct WatchedGpus {
  WatchedGpus(Communicator& all, int index, const NcclId& id) : ranks(all) {
    watch([] { return false; });
    try {
      gpus = make_gpu_collectives(index, id, ranks.rank(), ranks.size());
    } catch (...) {
      watch({});
      throw;
    }
    watch([this] { return gpus->are_done(); });
  }
  ~WatchedGpus() {
    watch([] { return false; });
    gpus.reset();
    watch({});
  }
  WatchedGpus(const WatchedGpus&) = delete;
  WatchedGpus& operator=(const WatchedGpus&) = delete;

  void watch(std::function<bool()> are_done) const {
    ranks.watch("exchange between the GPUs (NCCL)", std::move(are_done));
  }

  Communicator& ranks;
  std::unique_ptr<GpuCollectives> gpus;
};

}  // namespace

std::shared_ptr<GpuCollectives> connect_gpus(Communicator& ranks, Device device, const AllReduceOptions& options) {
  if (ranks.size() == 1 || device == Device{}) return nullptr;
  const std::string obstacle = options.tree_leaves > 0 ? "--deterministic adds them there, in a fixed order"
                                                       : nccl_obstacle(ranks, device.index);
  int64_t usable = obstacle.empty() ? 1 : 0;
  ranks.broadcast(std::span<int64_t>(&usable, 1), 0);  // the obstacle is known on rank 0 only
  if (ranks.rank() == 0) {
    if (usable == 1) {
      spdlog::info("gradients go from GPU to GPU by NCCL {}", nccl_version());
    } else {
      spdlog::warn("gradients go through the memory of the CPU, which is slow: {}", obstacle);
    }
  }
  if (usable == 0) return nullptr;
  NcclId id{};
  if (ranks.rank() == 0) id = make_nccl_id();
  ranks.broadcast(std::span<std::byte>(id), 0);
  const auto watched = std::make_shared<WatchedGpus>(ranks, device.index, id);
  return {watched, watched->gpus.get()};
}

std::unique_ptr<AsyncAllReduce> make_gpu_all_reduce(std::shared_ptr<GpuCollectives> gpus, int rank, int ranks,
                                                    const AllReduceOptions& options) {
  if (options.is_all_reduce()) return std::make_unique<GpuAllReduce>(std::move(gpus));
  return std::make_unique<GpuReduceScatter>(std::move(gpus), rank, ranks, options);
}

void all_gather_shards(GpuCollectives& gpus, int ranks, const std::vector<ShardedRange>& ranges) {
  gpus.begin();
  for (const auto& [values, owner] : ranges) gpus.all_gather(slices_of(values, ranks, owner));
  gpus.finish();
}

namespace {

class NoAllReduce final : public AsyncAllReduce {
 public:
  void start(const std::vector<Tensor>&, int) override {}
  void finish() override {}
};

// For GPUs that NCCL does not support: sums a copy on the CPU and copies the sum back.
class StagedAllReduce final : public AsyncAllReduce {
 public:
  explicit StagedAllReduce(Communicator& ranks) : ranks_(ranks) {}
  void start(const std::vector<Tensor>& parts, int /*owner*/) override {
    pending_.emplace_back(parts.back(), parts.back().to_cpu());
    ranks_.start_all_reduce(pending_.back().second.span<float>(), [] {});
  }
  void progress() override { ranks_.progress(); }
  void finish() override {
    ranks_.finish();
    for (const auto& [values, copy] : pending_) values.copy_from(copy);
    pending_.clear();
  }

 private:
  Communicator& ranks_;
  std::vector<std::pair<Tensor, Tensor>> pending_;  // tensor on the GPU, its copy on the CPU
};

}  // namespace

std::unique_ptr<AsyncAllReduce> make_async_all_reduce(Communicator& ranks, Kernels& kernels,
                                                      const AllReduceOptions& options,
                                                      const std::shared_ptr<GpuCollectives>& gpus) {
  if (ranks.size() == 1) return std::make_unique<NoAllReduce>();
  if (gpus) return make_gpu_all_reduce(gpus, ranks.rank(), ranks.size(), options);
  if (kernels.device() == Device{} || !options.is_all_reduce()) return make_reduce_scatter(ranks, options);
  return std::make_unique<StagedAllReduce>(ranks);
}

}  // namespace gyre
