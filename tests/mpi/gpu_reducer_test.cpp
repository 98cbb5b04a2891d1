// Sums of gradients over GPUs. They have the bits of the CPU's sums wherever the order of additions is fixed.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gyre/core/hardware/cuda.h"
#include "gyre/core/kernels/arguments.h"
#include "gyre/core/random.h"
#include "gyre/train/parallel/all_reduce.h"
#include "gyre/train/parallel/reducer.h"
#include "tests/mpi/ranks.h"
#include "tests/report.h"

namespace gyre::test {
namespace {

// Parameters of several buckets.
void add_parameters(Parameters& parameters, Device device) {
  for (const int64_t size : {30000, 7, 13001}) parameters.add("size" + std::to_string(size), {size}, Init::constant(1));
  parameters.allocate(1, DType::f32, device);
}

// Sets gradients that differ between ranks.
void set_gradients(Parameters& parameters) {
  RandomStream random(17, uint64_t(ranks().rank()));
  for (Parameter& p : parameters) {
    std::vector<float> numbers(size_t(p.shape.elements()));
    for (float& x : numbers) x = float(random.normal());
    p.allocated_gradient().copy_from(Tensor::from(p.shape, numbers).to(p.value.device()));
  }
}

// A reduction without backward.
void reduce(GradientReducer& reducer) {
  reducer.begin_micro_batch();
  reducer.end_micro_batch();
  reducer.finish();
}

// This rank's sums after a reduction: those of the elements that it owns.
std::vector<float> sums_on(Kernels& kernels, const ReducerOptions& options) {
  Parameters parameters;
  add_parameters(parameters, kernels.device());
  GradientReducer reducer(ranks(), kernels, parameters, options);
  set_gradients(parameters);
  reduce(reducer);
  if (const Tensor packed = reducer.packed_gradients()) return packed.to_cpu().to_vector<float>();
  std::vector<float> sums;
  for (const ElementRange& own : reducer.owned()) {
    const auto some = parameters.gradients().slice(own.begin, own.end).to_cpu().to_vector<float>();
    sums.insert(sums.end(), some.begin(), some.end());
  }
  return sums;
}

Kernels* own_gpu() {
  if (cuda_devices() > 0) return &cuda_kernels(ranks().local_rank() % cuda_devices());
  report_skipped("no GPU (CUDA: " + cuda_description() + ")");
  return nullptr;
}

TEST_CASE("ranks on GPUs of their own use NCCL on the emulator") {
  if (std::getenv("GYRE_CUDA_EMULATION_OWN_GPUS") == nullptr) return;
  CHECK(nccl_problem().empty());
  CHECK(connect_gpus(ranks(), own_gpu()->device(), {}) != nullptr);
  CHECK(connect_gpus(ranks(), own_gpu()->device(), {.tree_leaves = 8}) == nullptr);
}

TEST_CASE("ranks on GPUs can continue after a collective that NCCL rejects") {
  Kernels* const gpu = own_gpu();
  const auto gpus = gpu ? connect_gpus(ranks(), gpu->device(), {}) : nullptr;
  if (!gpus) return;
  const auto pieces = [&](int count) {
    std::vector<Tensor> all;
    for (int i = 0; i < count; ++i)
      all.push_back(Tensor::from({1}, std::vector<float>{float(ranks().rank())}).to(gpu->device()));
    return all;
  };
  gpus->begin();
  CHECK_THROWS_AS(gpus->all_gather(pieces(ranks().size() + 1)), Error);  // there is no such rank
  const std::vector<Tensor> gathered = pieces(ranks().size());
  gpus->begin();
  gpus->all_gather(gathered);
  gpus->finish();
  for (size_t rank = 0; rank < gathered.size(); ++rank)
    CHECK(gathered[rank].to_cpu().to_vector<float>() == std::vector<float>{float(rank)});
}

TEST_CASE("the watchdog ends a job in which NCCL hangs or fails") {
  if (std::getenv("GYRE_NCCL_EMULATION") == nullptr) return;  // the emulated NCCL then causes this fault
  const auto gpus = connect_gpus(ranks(), own_gpu()->device(), {});
  const Tensor values = Tensor::zeros({4}, DType::f32, own_gpu()->device());
  ranks().set_watchdog_timeout(1);
  ranks().enter(Phase::optimizer, 7);
  gpus->begin();
  gpus->all_reduce(values);
  gpus->finish();
  values.to_cpu();
}

TEST_CASE("ranks on GPUs exchange the results of queued kernels, and kernels queued later wait for the exchange") {
  Kernels* const gpu = own_gpu();
  if (!gpu) return;
  const auto gpus = connect_gpus(ranks(), gpu->device(), {});
  if (!gpus) return report_skipped("no NCCL between the GPUs of the ranks");
  constexpr int kRounds = 20;
  const Tensor ones = Tensor::from<float>({1000}, std::vector<float>(1000, 1)).to(gpu->device());
  std::vector<Tensor> sums, copies;
  for (int round = 0; round < kRounds; ++round) {
    sums.push_back(ones.like());
    copies.push_back(ones.like());
    gpu->scale(sums.back(), ones, round + 1);
    gpus->begin();
    gpus->all_reduce(sums.back());
    gpus->finish();
    gpu->scale(copies.back(), sums.back(), 1);
  }
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    const auto numbers = copies[size_t(round)].to_cpu().to_vector<float>();
    CHECK(numbers == std::vector<float>(1000, float(ranks().size() * (round + 1))));
  }
  CHECK(gpus->are_done());
}

TEST_CASE("ranks on GPUs add gradients to the bits of ranks on CPUs, for any communication dtype and owner") {
  Kernels* const gpu = own_gpu();
  if (!gpu) return;
  for (const DType comm_dtype : {DType::f32, DType::bf16}) {
    for (const int zero : {0, 1, 2}) {
      for (const double bucket_mb : {0.02, 100.0}) {
        CAPTURE(to_string(comm_dtype));
        CAPTURE(zero);
        const bool sharded = zero >= 1;
        const ReducerOptions options{.bucket_mb = bucket_mb,
                                     .micro_batches = ranks().size(),
                                     .comm_dtype = comm_dtype,
                                     .sharded = sharded,
                                     .shards_gradients = zero == 2};
        const std::vector<float> sums = sums_on(*gpu, options), expected = sums_on(cpu_kernels(), options);
        REQUIRE(sums.size() == expected.size());
        const bool any_order = comm_dtype == DType::f32 && !sharded && ranks().size() > 2;
        for (size_t i = 0; i < sums.size(); ++i) {
          if (any_order) REQUIRE(sums[i] == doctest::Approx(expected[i]).epsilon(1e-5));
          if (!any_order) REQUIRE(sums[i] == expected[i]);
        }
      }
    }
  }
}

TEST_CASE("ranks on GPUs exchange gradients in memory for one bucket") {
  Kernels* const gpu = own_gpu();
  if (!gpu || !connect_gpus(ranks(), gpu->device(), {})) return;  // without NCCL the memory is on the CPU
  const Device device = gpu->device();
  const int index = device.index;
  constexpr double kBucket = 4 * kSquaresBlock * 4;  // bytes
  const double rounding = 4.0 * kSquaresBlock * ranks().size();
  for (const DType comm_dtype : {DType::f32, DType::bf16}) {
    for (const bool sharded : {false, true}) {
      Parameters parameters;
      add_parameters(parameters, device);
      GradientReducer reducer(ranks(), *gpu, parameters,
                              {.bucket_mb = kBucket / (1 << 20),
                               .micro_batches = ranks().size(),
                               .comm_dtype = comm_dtype,
                               .sharded = sharded});
      reduce(reducer);
      // Raises the memory in use to its peak, so that the peak then shows what a reduction takes.
      const MemoryStats stats = cuda_memory_stats(index);
      const Tensor filler = Tensor::empty({int64_t(stats.peak_bytes - stats.active_bytes) / 4 + 1}, DType::f32, device);
      const size_t before = cuda_memory_stats(index).peak_bytes;
      reduce(reducer);
      const auto taken = double(cuda_memory_stats(index).peak_bytes - before);
      CAPTURE(to_string(comm_dtype));
      CAPTURE(sharded);
      const bool in_place = comm_dtype == DType::f32 && !sharded;
      CHECK(taken >= (in_place ? 0 : 0.5 * kBucket));
      CHECK(taken <= (in_place ? 0 : kBucket + rounding));
    }
  }
}

TEST_CASE("ranks on GPUs gather the elements that each of them owns, and add numbers") {
  Kernels* const gpu = own_gpu();
  if (!gpu) return;
  Parameters parameters;
  add_parameters(parameters, gpu->device());
  const GradientReducer reducer(ranks(), *gpu, parameters,
                                {.bucket_mb = 0.02, .micro_batches = ranks().size(), .sharded = true});
  const Tensor values = parameters.values();
  for (const ElementRange& own : reducer.owned()) {
    const std::vector<float> numbers(size_t(own.size()), float(ranks().rank() + 2));
    values.slice(own.begin, own.end).copy_from(Tensor::from({own.size()}, numbers).to(gpu->device()));
  }
  reducer.all_gather(values, {0, values.size()});
  std::vector<float> gathered = values.to_cpu().to_vector<float>();
  for (const ElementRange& own : reducer.owned()) {
    for (int64_t i = own.begin; i < own.end; ++i) {
      REQUIRE(gathered[size_t(i)] == float(ranks().rank() + 2));
      gathered[size_t(i)] = 0;
    }
  }
  if (ranks().size() == 2) {
    for (const float x : gathered) REQUIRE((x == 0 || x == float(1 - ranks().rank() + 2)));
  }
  const Tensor numbers = Tensor::from<double>({2}, {1, double(ranks().rank())}).to(gpu->device());
  reducer.sum(numbers);
  const double n = ranks().size();
  CHECK(numbers.to_cpu().to_vector<double>() == std::vector<double>{n, n * (n - 1) / 2});
}

}  // namespace
}  // namespace gyre::test
