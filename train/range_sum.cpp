#include "train/range_sum.h"

#include <spdlog/spdlog.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda.h"
#include "train/slice_sum.h"

namespace gyre {
namespace {

class NoSum final : public RangeSum {
 public:
  void start(const std::vector<Tensor>&) override {}
  void finish() override {}
};

// Where the values lie, in the memory of GPUs that NCCL cannot join, under an MPI that reads and writes it.
class MpiSum final : public RangeSum {
 public:
  explicit MpiSum(Communicator& ranks) : ranks_(ranks) {}
  void start(const std::vector<Tensor>& parts) override {
    const Tensor& values = parts.back();
    cuda_synchronize(values.device().index);  // MPI knows nothing of streams
    ranks_.start_all_reduce({values.data<float>(), size_t(values.size())}, [] {});
  }
  void progress() override { ranks_.progress(); }
  void finish() override { ranks_.finish(); }

 private:
  Communicator& ranks_;
};

// GPUs under an MPI that does not: a copy on the CPU is summed, and sent back.
class StagedSum final : public RangeSum {
 public:
  explicit StagedSum(Communicator& ranks) : ranks_(ranks) {}
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
  std::vector<std::pair<Tensor, Tensor>> pending_;  // on the GPU, on the CPU
};

class NcclSum final : public RangeSum {
 public:
  explicit NcclSum(std::unique_ptr<GpuAllReduce> gpus) : gpus_(std::move(gpus)) {}
  void start(const std::vector<Tensor>& parts) override { gpus_->start(parts.back()); }
  void finish() override { gpus_->finish(); }

 private:
  std::unique_ptr<GpuAllReduce> gpus_;
};

// Why NCCL cannot join the ranks' GPUs, in rank 0's words; empty where it can.
std::string obstacle(Communicator& ranks, int gpu) {
  const std::vector<std::string> gpus = ranks.gather(cuda_uuid(gpu), 0), problems = ranks.gather(nccl_problem(), 0);
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  return std::set(gpus.begin(), gpus.end()).size() < gpus.size() ? "ranks share a GPU" : "";
}

std::unique_ptr<RangeSum> sum_of_gpus(Communicator& ranks, int gpu) {
  enum Way : int64_t { nccl, direct, staged };
  const std::string reason = obstacle(ranks, gpu);
  int64_t way = reason.empty() ? nccl : ranks.takes_gpu_memory() ? direct : staged;
  ranks.broadcast(std::span<int64_t>(&way, 1), 0);  // only rank 0 knows the obstacle
  if (way == direct) return std::make_unique<MpiSum>(ranks);
  if (way == staged) {
    if (ranks.rank() == 0) spdlog::warn("gradients go from GPU to GPU by way of the CPU, which is slow: {}", reason);
    return std::make_unique<StagedSum>(ranks);
  }
  NcclId id{};
  if (ranks.rank() == 0) id = make_nccl_id();
  ranks.broadcast(std::span<std::byte>(id), 0);
  return std::make_unique<NcclSum>(make_gpu_all_reduce(gpu, id, ranks.rank(), ranks.size()));
}

}  // namespace

std::unique_ptr<RangeSum> make_range_sum(Communicator& ranks, Device device, const SumOptions& options) {
  if (ranks.size() == 1) return std::make_unique<NoSum>();
  if (device == Device{} || options.tree_shards > 0 || options.wire != DType::f32 || options.sharded) {
    const int shards = options.tree_shards > 0 ? options.tree_shards : ranks.size();
    return make_slice_sum(ranks, {shards, options.wire, options.sharded});
  }
  return sum_of_gpus(ranks, device.index);
}

}  // namespace gyre
