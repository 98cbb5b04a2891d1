#include "train/range_sum.h"

#include <spdlog/spdlog.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda.h"

namespace gyre {
namespace {

class NoSum final : public RangeSum {
 public:
  void start(const Tensor&) override {}
  void finish() override {}
};

// Where the values lie: in the CPU's memory, or in a GPU's that NCCL cannot join, under an MPI that reads and writes
// it.
class MpiSum final : public RangeSum {
 public:
  explicit MpiSum(Communicator& ranks) : ranks_(ranks) {}
  void start(const Tensor& values) override {
    if (values.device() != Device{}) cuda_synchronize(values.device().index);  // MPI knows nothing of streams
    ranks_.start_all_reduce({values.data<float>(), size_t(values.size())});
  }
  void progress() override { ranks_.progress(); }
  void finish() override { ranks_.finish_all_reduces(); }

 private:
  Communicator& ranks_;
};

// GPUs under an MPI that does not: a copy on the CPU is summed, and sent back.
class StagedSum final : public RangeSum {
 public:
  explicit StagedSum(Communicator& ranks) : ranks_(ranks) {}
  void start(const Tensor& values) override {
    pending_.emplace_back(values, values.to_cpu());
    ranks_.start_all_reduce(pending_.back().second.span<float>());
  }
  void progress() override { ranks_.progress(); }
  void finish() override {
    ranks_.finish_all_reduces();
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
  void start(const Tensor& values) override { gpus_->start(values); }
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

std::unique_ptr<RangeSum> make_range_sum(Communicator& ranks, Device device) {
  if (ranks.size() == 1) return std::make_unique<NoSum>();
  if (device == Device{}) return std::make_unique<MpiSum>(ranks);
  return sum_of_gpus(ranks, device.index);
}

}  // namespace gyre
