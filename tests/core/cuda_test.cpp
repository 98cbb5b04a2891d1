// The CUDA interface (core/hardware/cuda.h). Without a GPU or without the backend, its errors are one line long.
#include "gyre/core/hardware/cuda.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/cuda/runtime/environment.h"
#include "gyre/core/host_copy.h"
#include "gyre/core/kernels/fused_op.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "tests/errors.h"
#include "tests/gpu.h"
#include "tests/report.h"

using namespace gyre;

namespace {

constexpr Device kGpu{Device::Kind::cuda, 0};

std::vector<float> numbers(size_t n, float first = 0) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Copies ids to the GPU and back. Only kernels copy ids, so this looks up ids(i) in a table whose row i holds i.
std::vector<float> looked_up(const Tensor& ids) {
  const Tensor table = Tensor::from<float>({100, 1}, numbers(100)).to(kGpu);
  const Tensor y = Tensor::empty({ids.size(), 1}, DType::f32, kGpu);
  cuda_kernels(0).embedding(y, table, ids, 1);
  return y.to_cpu().to_vector<float>();
}

}  // namespace

TEST_CASE("a GPU that cannot be used gives an error of one line") {
  const std::string error = error_of<UsageError>([] { cuda_kernels(cuda_devices() > 0 ? 99 : 0); });
  CHECK(error.starts_with("[cuda] "));
  CHECK(error.find('\n') == std::string::npos);
  CHECK(error_of<UsageError>([] { kernels_on({Device::Kind::cuda, 99}); }).starts_with("[cuda] "));
  CHECK(error_of<UsageError>([] { Tensor::empty({2}, DType::f32, {Device::Kind::cuda, 99}); }).starts_with("[cuda] "));
  if (!has_cuda()) {
    CHECK(error.find("built without CUDA") != std::string::npos);
    CHECK(cuda_devices() == 0);
  }
  CHECK_FALSE(cuda_description().empty());
}

TEST_CASE("conversions on a GPU give the bits of the CPU, also for tensors that are not aligned") {
  if (!test_gpu()) return;
  std::vector<float> values(1003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i)) / 3;
  const Tensor numbers = Tensor::from<float>({1003}, values);
  for (const auto& [from, to] :
       {std::pair(DType::f32, DType::bf16), {DType::bf16, DType::f32}, {DType::f64, DType::bf16}}) {
    CAPTURE(to_string(from));
    const Tensor x = numbers.to(from), expected = x.to(to);
    for (const int64_t first : {0, 1}) {
      CAPTURE(first);
      const Tensor out = Tensor::zeros({1003}, to, kGpu);
      cuda_kernels(0).convert(out.slice(first, 1003), x.to(kGpu).slice(first, 1003));
      const Tensor found = out.to_cpu().slice(first, 1003), wanted = expected.slice(first, 1003);
      CHECK(std::memcmp(found.raw(), wanted.raw(), found.bytes()) == 0);
    }
  }
}

TEST_CASE("a host copy arrives in the order of the queue, and not with later work") {
  if (!test_gpu()) return;
  const Tensor t = Tensor::from<float>({5}, numbers(5)).to(kGpu);
  const HostCopy first(t);
  cuda_kernels(0).scale(t, t, 2);
  const HostCopy second(t);
  cuda_kernels(0).scale(t, t, 2);
  CHECK(second.wait().to_vector<float>() == std::vector<float>{0, 2, 4, 6, 8});
  CHECK(first.wait().to_vector<float>() == numbers(5));
  CHECK_THROWS_AS(HostCopy(Tensor::zeros({1000}, DType::f32, kGpu)), Error);
}

TEST_CASE("NCCL connects a GPU with itself") {
  const Kernels* const gpu = test_gpu();
  if (!gpu) return;
  if (!nccl_problem().empty()) return report_skipped(nccl_problem());
  MESSAGE("NCCL ", nccl_version());
  const auto gpus = make_gpu_collectives(0, make_nccl_id(), 0, 1);
  const Tensor from = Tensor::from<float>({5}, numbers(5)).to(kGpu), to = from.like();
  gpus->begin();
  gpus->all_to_all({from}, {to});
  gpus->all_reduce(from);
  gpus->all_gather({from});
  gpus->finish();
  CHECK(to.to_cpu().to_vector<float>() == numbers(5));
  CHECK(from.to_cpu().to_vector<float>() == numbers(5));
  CHECK(gpus->are_done());
}

TEST_CASE("the times of a GPU are those of its queue, by the clock of the CPU") {
  if (!test_gpu()) return;
  const double before = steady_seconds();
  const auto clock = cuda_clock(0);
  std::vector<std::function<double()>> readings;
  const Tensor t = Tensor::zeros({100, 100}, DType::f32, kGpu);
  for (int i = 0; i < 5; ++i) {
    readings.push_back(clock());
    cuda_kernels(0).scale(t, t, 2);
  }
  double last = before;
  for (const auto& reading : readings) {
    CHECK(reading() >= last);
    last = reading();
  }
  CHECK(last <= steady_seconds());
}

TEST_CASE("tensors are copied to a GPU and back") {
  if (!test_gpu()) return;
  const Tensor host = Tensor::from<float>({5, 3}, numbers(15)), t = host.to(kGpu);
  CHECK(t.device() == kGpu);
  CHECK(t.to_cpu().to_vector<float>() == numbers(15));
  CHECK(t.clone().slice(2, 4).to_cpu().to_vector<float>() == numbers(6, 6));
  t.slice(1, 2).copy_from(Tensor::from<float>({1, 3}, numbers(3, 100)));
  t.slice(4, 5).copy_from(t.slice(1, 2));
  t.slice(0, 1).zero();
  const auto values = t.to_cpu().to_vector<float>();
  CHECK(values == std::vector<float>{0, 0, 0, 100, 101, 102, 6, 7, 8, 9, 10, 11, 100, 101, 102});
  CHECK(Tensor::zeros({3}, DType::f64, kGpu).to_cpu().to_vector<double>() == std::vector<double>(3));
  CHECK(Tensor::empty({0, 4}, DType::bf16, kGpu).to_cpu().size() == 0);
  CHECK_THROWS_AS(t.span<float>(), Error);
}

TEST_CASE("host memory may be overwritten right after a copy to a GPU") {
  if (!test_gpu()) return;
  const Tensor host = Tensor::from<float>({1 << 22}, numbers(1 << 22));
  for (int i = 0; i < 3; ++i) {
    const Tensor t = host.to(kGpu), expected = host.clone();
    host.data<float>()[(1 << 22) - 1] += 1;
    const Tensor back = t.to_cpu();
    CHECK(std::memcmp(back.raw(), expected.raw(), expected.bytes()) == 0);
  }
}

TEST_CASE("GPU memory is counted and reused") {
  if (!test_gpu()) return;
  { const Tensor warm = Tensor::empty({1000, 1000}, DType::f32, kGpu); }
  const MemoryStats before = cuda_memory_stats(0);
  for (int rows : {1000, 999, 990}) {
    const Tensor t = Tensor::empty({rows, 1000}, DType::f32, kGpu), other = Tensor::empty({1}, DType::f32, kGpu);
    CHECK(reinterpret_cast<uintptr_t>(t.raw()) % 256 == 0);
    CHECK(reinterpret_cast<uintptr_t>(other.raw()) % 256 == 0);
    CHECK(cuda_memory_stats(0).active_bytes >= before.active_bytes + t.bytes());
  }
  CHECK(cuda_memory_stats(0).active_bytes == before.active_bytes);
  if (cuda::is_on("GYRE_CUDA_POOL", true)) CHECK(cuda_memory_stats(0).system_allocations == before.system_allocations);
}

TEST_CASE("GPU memory that is reused holds NaN if GYRE_CUDA_POISON is 1") {
  if (!test_gpu()) return;
  if (!cuda::is_on("GYRE_CUDA_POISON", false)) return report_skipped("GYRE_CUDA_POISON is not set");
  for (int i = 0; i < 2; ++i) {
    const Tensor t = Tensor::empty({1000}, DType::f32, kGpu);
    for (const float x : t.to_cpu().to_vector<float>()) REQUIRE(std::isnan(x));
    t.zero();
  }
}

TEST_CASE("ids that change after their first use are an error if GYRE_CUDA_POISON is 1") {
  if (!test_gpu()) return;
  if (!cuda::is_on("GYRE_CUDA_POISON", false)) return report_skipped("GYRE_CUDA_POISON is not set");
  const Tensor ids = Tensor::from<int32_t>({3}, std::vector<int32_t>{3, 1, 4});
  CHECK(looked_up(ids) == std::vector<float>{3, 1, 4});
  ids.data<int32_t>()[1] = 5;
  CHECK_THROWS_WITH_AS(looked_up(ids), doctest::Contains("changed after their first use"), Error);
}

TEST_CASE("out of GPU memory gives an error of one line with the requested size") {
  if (!test_gpu()) return;
  CHECK_THROWS_WITH_AS(Tensor::empty({int64_t{1} << 45}, DType::f32, kGpu), doctest::Contains("134217728 MiB"), Error);
  CHECK(Tensor::zeros({2}, DType::f32, kGpu).to_cpu().to_vector<float>() == std::vector<float>(2));
}

TEST_CASE("new ids at the address of freed ids are copied again") {
  if (!test_gpu()) return;
  for (int32_t i = 0; i < 300; ++i) {
    const Tensor ids = Tensor::from<int32_t>({3}, std::vector<int32_t>{i % 100, (i + 1) % 100, (i + 7) % 100});
    const std::vector<float> expected{float(i % 100), float((i + 1) % 100), float((i + 7) % 100)};
    CHECK(looked_up(ids) == expected);
    CHECK(looked_up(ids.slice(1, 3)) == std::vector<float>{expected[1], expected[2]});
    CHECK(looked_up(ids) == expected);
  }
  CHECK(looked_up(Tensor::empty({0}, DType::i32)).empty());
}

TEST_CASE("new ids at the address of freed ids do not overwrite a copy that a queued kernel reads") {
  if (!test_gpu()) return;
  constexpr int32_t kBatches = 20;
  const Tensor table = Tensor::from<float>({100, 1}, numbers(100)).to(kGpu);
  std::vector<Tensor> results;
  for (int32_t i = 0; i < kBatches; ++i) {
    const Tensor ids = Tensor::from<int32_t>({2}, std::vector{i, i + 50});
    results.push_back(Tensor::empty({2, 1}, DType::f32, kGpu));
    cuda_kernels(0).embedding(results.back(), table, ids, 1);
  }
  for (int32_t i = 0; i < kBatches; ++i)
    CHECK(results[size_t(i)].to_cpu().to_vector<float>() == std::vector{float(i), float(i + 50)});
}

TEST_CASE("cached copies of ids stay correct while other ids are created and freed") {
  if (!test_gpu()) return;
  std::vector<Tensor> kept;
  for (int32_t i = 0; i < 700; ++i) kept.push_back(Tensor::from<int32_t>({1}, std::vector<int32_t>{i % 100}));
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kept.size(); ++i) CHECK(looked_up(kept[i])[0] == float(i % 100));
    kept.resize(600);
    for (int32_t i = 0; i < 100; ++i) kept.push_back(Tensor::from<int32_t>({1}, std::vector<int32_t>{i}));
  }
}

TEST_CASE("GPUs lack the kernels of some ops, which run composed, and say so") {
  std::vector<Kernels*> backends{&virtual_kernels()};
  if (Kernels* gpu = test_gpu()) backends.push_back(gpu);
  for (Kernels* gpu : backends) {
    CHECK(composed_ops(*gpu) == "segment_mean, head_dot, head_divide, squared_error, margin_loss");
    CHECK_THROWS_WITH_AS(gpu->head_divide({}, {}, {}, 0),
                         concat("[head_divide] this kernel is for CPUs: ", gpu->name(), " does not have it").c_str(),
                         Error);
    CHECK_THROWS_WITH_AS(gpu->pack_weight({}, Precision::fp32), doctest::Contains("[pack_weight] this kernel is for"),
                         Error);
  }
}

// Copies bits to the GPU and back. Only kernels copy metadata, so the bits are the mask of a choice between 1 and 0.
static std::vector<float> copied_as_metadata(const std::vector<int32_t>& bits) {
  const Tensor mask = Tensor::from<int32_t>({int64_t(bits.size())}, bits);
  const Tensor one = Tensor::from<float>({1}, std::vector<float>{1}).to(kGpu),
               chosen = Tensor::empty(mask.shape(), DType::f32, kGpu);
  cuda_kernels(0).where(chosen, mask, one, {});
  return chosen.to_cpu().to_vector<float>();
}

TEST_CASE("metadata larger than the staging buffer are copied correctly") {
  if (!test_gpu()) return;
  for (const size_t n : {1, 1000, 1 << 20, 1'300'000, 5}) {
    std::vector<int32_t> bits(n);
    for (size_t i = 0; i < n; ++i) bits[i] = int32_t(i % 97 % 2);
    CHECK(copied_as_metadata(bits) == std::vector<float>(bits.begin(), bits.end()));
  }
}

// Compares the loss of rows of logits, and the gradients that replace them, with a CPU: the logits are 0, 1, 2, ..,
// times `scale`.
static void check_loss(const Shape& shape, double scale, double tolerance,
                       const std::function<void(Kernels&, const Tensor& sums, const Tensor& logits)>& loss) {
  const Tensor host = Tensor::from<float>(shape, numbers(size_t(shape.elements())));
  cpu_kernels().scale(host, host, scale);
  const Tensor logits = host.to(kGpu), sums = Tensor::zeros({4}, DType::f64), gpu_sums = sums.to(kGpu);
  loss(cuda_kernels(0), gpu_sums, logits);
  loss(cpu_kernels(), sums, host);
  const auto actual = logits.to_cpu().to_vector<float>(), expected = host.to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) REQUIRE(std::abs(actual[i] - expected[i]) < tolerance);
  const auto actual_sums = gpu_sums.to_cpu().to_vector<double>(), expected_sums = sums.to_vector<double>();
  for (size_t i = 0; i < 4; ++i) CHECK(actual_sums[i] == doctest::Approx(expected_sums[i]));
}

// In rows of an odd number of columns, the packs of the two rows of a pair are aligned differently.
TEST_CASE("R-Drop on rows without padding is the same as on a CPU") {
  if (!test_gpu()) return;
  for (const int64_t v : {1, 7, 129, 4097}) {
    CAPTURE(v);
    const Tensor targets = Tensor::from<int32_t>({3}, std::vector{int32_t(v - 1), -1, 0});
    check_loss({6, v}, 1e-3, 1e-5, [&](Kernels& kernels, const Tensor& sums, const Tensor& logits) {
      kernels.r_drop_in_place(sums, logits, targets, v, 0.1, 5);
    });
  }
}

TEST_CASE("the gradients of logits too wide for shared memory are the same as on a CPU") {
  if (!test_gpu()) return;
  constexpr int64_t v = 24'640;
  const Tensor targets = Tensor::from<int32_t>({3}, std::vector{7, -1, 24'639});
  check_loss({3, v}, 1e-4, 1e-6, [&](Kernels& kernels, const Tensor& sums, const Tensor& logits) {
    kernels.cross_entropy_in_place(sums, logits, targets, v, {0.1});
  });
}
