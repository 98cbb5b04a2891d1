#include "gyre/train/parallel/async_all_reduce.h"

#include <utility>
#include <vector>

#include "gyre/core/hardware/cuda.h"
#include "gyre/train/parallel/gpu_transport.h"
#include "gyre/train/parallel/reduce_scatter.h"

namespace gyre {
namespace {

class NoAllReduce final : public AsyncAllReduce {
 public:
  void start(const std::vector<Tensor>&, int) override {}
  void finish() override {}
};

// For GPUs that NCCL does not support, with a GPU-aware MPI: sums in place in GPU memory.
class MpiAllReduce final : public AsyncAllReduce {
 public:
  MpiAllReduce(Communicator& ranks, int gpu) : ranks_(ranks) {
    ranks.prepare_progress_thread([gpu] { cuda_bind_thread(gpu); });
  }
  void start(const std::vector<Tensor>& parts, int /*owner*/) override {
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
  if (mpi_adds_on_gpus(ranks, options)) return std::make_unique<MpiAllReduce>(ranks, kernels.device().index);
  return std::make_unique<StagedAllReduce>(ranks);
}

}  // namespace gyre
