// The CUDA interface (core/hardware/cuda.h). Without a GPU or without the backend, its errors are one line long.
#include "gyre/core/hardware/cuda.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "gyre/core/cuda/runtime/environment.h"
#include "gyre/core/host_copy.h"
#include "tests/gpu.h"

using namespace gyre;

namespace {

constexpr Device kGpu{Device::Kind::cuda, 0};

std::string message(auto&& f) {
  try {
    f();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

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
  const std::string error = message([] { cuda_kernels(cuda_devices() > 0 ? 99 : 0); });
  CHECK(error.starts_with("[cuda] "));
  CHECK(error.find('\n') == std::string::npos);
  CHECK(message([] { kernels_on({Device::Kind::cuda, 99}); }).starts_with("[cuda] "));
  CHECK(message([] { Tensor::empty({2}, DType::f32, {Device::Kind::cuda, 99}); }).starts_with("[cuda] "));
  if (!has_cuda()) {
    CHECK(error.find("built without CUDA") != std::string::npos);
    CHECK(cuda_devices() == 0);
  }
  CHECK_FALSE(cuda_description().empty());
}

TEST_CASE("rounding to bf16 on a GPU gives the bits of the CPU, also for tensors that are not aligned") {
  if (!test_gpu()) return;
  std::vector<float> values(1003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i)) / 3;
  const Tensor x = Tensor::from<float>({1003}, values), out = Tensor::zeros({1003}, DType::bf16, kGpu);
  for (const int64_t first : {0, 1}) {
    cuda_kernels(0).round_to_bf16(out.slice(first, 1003), x.to(kGpu).slice(first, 1003));
    const Tensor expected = x.to(DType::bf16), found = out.to_cpu();
    CHECK(std::memcmp(found.raw(), expected.raw(), found.bytes()) == 0);
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

// Copies numbers to the GPU and back. Only kernels copy metadata, so this computes the gradient of a squared error of
// zeros, with a factor that makes it the targets.
static std::vector<float> copied_as_metadata(const std::vector<float>& values) {
  const Tensor targets = Tensor::from<float>({int64_t(values.size())}, values);
  const Tensor predictions = Tensor::zeros(targets.shape(), DType::f32, kGpu), slopes = predictions.like();
  cuda_kernels(0).squared_error_backward(slopes, predictions, targets, -0.5);  // 2 * -0.5 * (0 - target)
  return slopes.to_cpu().to_vector<float>();
}

TEST_CASE("metadata larger than the staging buffer are copied correctly") {
  if (!test_gpu()) return;
  for (const size_t n : {1, 1000, 1 << 20, 1'300'000, 5}) {
    std::vector<float> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = float(i % 97);
    CHECK(copied_as_metadata(values) == values);
  }
}

// In rows of an odd number of columns, the packs of the two rows of a pair are aligned differently.
TEST_CASE("R-Drop on rows without padding is the same as on a CPU") {
  if (!test_gpu()) return;
  constexpr int64_t n = 3;
  for (const int64_t v : {1, 7, 129, 4097}) {
    CAPTURE(v);
    const Tensor host = Tensor::from<float>({2 * n, v}, numbers(2 * n * v)),
                 targets = Tensor::from<int32_t>({n}, std::vector{int32_t(v - 1), -1, 0});
    cpu_kernels().scale(host, host, 1e-3);
    const Tensor logits = host.to(kGpu), sums = Tensor::zeros({4}, DType::f64), gpu_sums = sums.to(kGpu);
    cuda_kernels(0).r_drop_in_place(gpu_sums, logits, targets, v, 0.1, 5);
    cpu_kernels().r_drop_in_place(sums, host, targets, v, 0.1, 5);
    const auto actual = logits.to_cpu().to_vector<float>(), expected = host.to_vector<float>();
    for (size_t i = 0; i < expected.size(); ++i) REQUIRE(std::abs(actual[i] - expected[i]) < 1e-5f);
    for (int i = 0; i < 4; ++i)
      CHECK(gpu_sums.to_cpu().to_vector<double>()[size_t(i)] == doctest::Approx(sums.to_vector<double>()[size_t(i)]));
  }
}

TEST_CASE("the gradients of logits too wide for shared memory are the same as on a CPU") {
  if (!test_gpu()) return;
  constexpr int64_t n = 3, v = 24'640;
  const Tensor host = Tensor::from<float>({n, v}, numbers(n * v)),
               targets = Tensor::from<int32_t>({n}, std::vector{7, -1, 24'639});
  cpu_kernels().scale(host, host, 1e-4);
  const Tensor logits = host.to(kGpu), sums = Tensor::zeros({4}, DType::f64), gpu_sums = sums.to(kGpu);
  cuda_kernels(0).cross_entropy_in_place(gpu_sums, logits, targets, v, {0.1});
  cpu_kernels().cross_entropy_in_place(sums, host, targets, v, {0.1});
  const auto actual = logits.to_cpu().to_vector<float>(), expected = host.to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) REQUIRE(std::abs(actual[i] - expected[i]) < 1e-6f);
  for (int i = 0; i < 4; ++i)
    CHECK(gpu_sums.to_cpu().to_vector<double>()[size_t(i)] == doctest::Approx(sums.to_vector<double>()[size_t(i)]));
}
