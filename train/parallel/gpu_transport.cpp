#include "gyre/train/parallel/gpu_transport.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "gyre/train/parallel/reduce_scatter.h"

namespace gyre {
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

}  // namespace

std::shared_ptr<GpuCollectives> connect_gpus(Communicator& ranks, Device device, const AllReduceOptions& options) {
  if (ranks.size() == 1 || device == Device{}) return nullptr;
  const std::string obstacle = options.tree_leaves > 0 ? "--deterministic adds them there, in a fixed order"
                                                       : nccl_obstacle(ranks, device.index);
  int64_t usable = obstacle.empty() ? 1 : 0;
  ranks.broadcast(std::span<int64_t>(&usable, 1), 0);  // the obstacle is known on rank 0 only
  if (ranks.rank() == 0) {
    if (usable == 1) {
      spdlog::info("gradients go from GPU to GPU by NCCL");
    } else {
      spdlog::warn("gradients go {}, which is slow: {}",
                   mpi_adds_on_gpus(ranks, options) ? "from GPU to GPU by MPI" : "through the memory of the CPU",
                   obstacle);
    }
  }
  if (usable == 0) return nullptr;
  NcclId id{};
  if (ranks.rank() == 0) id = make_nccl_id();
  ranks.broadcast(std::span<std::byte>(id), 0);
  return make_gpu_collectives(device.index, id, ranks.rank(), ranks.size());
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

}  // namespace gyre
