#include "gyre/train/parallel/async_all_reduce.h"

#include <spdlog/spdlog.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/hardware/cuda.h"
#include "gyre/train/parallel/reduce_scatter.h"

namespace gyre {
namespace {

class NoAllReduce final : public AsyncAllReduce {
 public:
  void start(const std::vector<Tensor>&) override {}
  void finish() override {}
};

// For GPUs that NCCL does not support, with a GPU-aware MPI: sums in place in GPU memory.
class MpiAllReduce final : public AsyncAllReduce {
 public:
  explicit MpiAllReduce(Communicator& ranks) : ranks_(ranks) {}
  void start(const std::vector<Tensor>& parts) override {
    const Tensor& values = parts.back();
    cuda_synchronize(values.device().index);  // MPI does not wait for CUDA streams
    ranks_.start_all_reduce({values.data<float>(), size_t(values.size())}, [] {});
  }
  void progress() override { ranks_.progress(); }
  void finish() override { ranks_.finish(); }

 private:
  Communicator& ranks_;
};

// For GPUs with an MPI that is not GPU-aware: sums a copy on the CPU and copies the sum back.
class StagedAllReduce final : public AsyncAllReduce {
 public:
  explicit StagedAllReduce(Communicator& ranks) : ranks_(ranks) {}
  void start(const std::vector<Tensor>& parts) override {
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

class NcclAsyncAllReduce final : public AsyncAllReduce {
 public:
  explicit NcclAsyncAllReduce(std::unique_ptr<GpuAllReduce> gpus) : gpus_(std::move(gpus)) {}
  void start(const std::vector<Tensor>& parts) override { gpus_->start(parts.back()); }
  void finish() override { gpus_->finish(); }

 private:
  std::unique_ptr<GpuAllReduce> gpus_;
};

// On rank 0: the reason why NCCL cannot use the ranks' GPUs, empty if it can.
std::string nccl_obstacle(Communicator& ranks, int gpu) {
  const std::vector<std::string> gpus = ranks.gather(cuda_uuid(gpu), 0), problems = ranks.gather(nccl_problem(), 0);
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  return std::set(gpus.begin(), gpus.end()).size() < gpus.size() ? "ranks share a GPU" : "";
}

std::unique_ptr<AsyncAllReduce> make_gpu_async_all_reduce(Communicator& ranks, int gpu) {
  enum Transport : int64_t { kNccl, kDirect, kStaged };
  const std::string reason = nccl_obstacle(ranks, gpu);
  int64_t transport = reason.empty() ? kNccl : ranks.takes_gpu_memory() ? kDirect : kStaged;
  ranks.broadcast(std::span<int64_t>(&transport, 1), 0);  // nccl_obstacle() is valid on rank 0 only
  if (transport == kDirect) return std::make_unique<MpiAllReduce>(ranks);
  if (transport == kStaged) {
    if (ranks.rank() == 0)
      spdlog::warn("gradients are copied from GPU to GPU through the CPU, which is slow: {}", reason);
    return std::make_unique<StagedAllReduce>(ranks);
  }
  NcclId id{};
  if (ranks.rank() == 0) id = make_nccl_id();
  ranks.broadcast(std::span<std::byte>(id), 0);
  return std::make_unique<NcclAsyncAllReduce>(make_gpu_all_reduce(gpu, id, ranks.rank(), ranks.size()));
}

}  // namespace

std::unique_ptr<AsyncAllReduce> make_async_all_reduce(Communicator& ranks, Device device,
                                                      const AllReduceOptions& options) {
  if (ranks.size() == 1) return std::make_unique<NoAllReduce>();
  if (device == Device{} || options.tree_leaves > 0 || options.comm_dtype != DType::f32 || options.sharded) {
    const int micro_batches = options.tree_leaves > 0 ? options.tree_leaves : ranks.size();
    return make_reduce_scatter(ranks, {micro_batches, options.comm_dtype, options.sharded});
  }
  return make_gpu_async_all_reduce(ranks, device.index);
}

}  // namespace gyre
