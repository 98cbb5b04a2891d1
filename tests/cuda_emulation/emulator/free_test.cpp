// Freed memory waits for the kernels before it, and leaves their mistakes to the next call that waits.
#include <doctest/doctest.h>

#include "gyre/core/cuda/runtime/environment.h"
#include "gyre/core/hardware/cuda.h"
#include "tests/cuda_emulation/emulator/small_kernels.h"
#include "tests/report.h"

using cuda_emulation::mistake_on, cuda_emulation::new_stream;
using namespace gyre;

namespace {

__global__ void write_at(float* to, int64_t index) { to[index] = 1; }

constexpr const char* kMistake = "outside of allocated memory";

}  // namespace

TEST_CASE("freed memory returns a mistake of a kernel and leaves it to the next call that waits") {
  const cudaStream_t stream = new_stream();
  void* data = nullptr;
  REQUIRE(cudaMalloc(&data, sizeof(float)) == cudaSuccess);
  cuda::launch(write_at, 1, 1, 0, stream, static_cast<float*>(data), int64_t{1});
  REQUIRE(cudaFree(data) == cudaErrorLaunchFailure);
  CHECK(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find(kMistake) != std::string::npos);
  CHECK(mistake_on(stream).find(kMistake) != std::string::npos);
  CHECK(mistake_on(stream) == "");
}

TEST_CASE("a tensor is freed without an exception after a mistake of a kernel, which the next copy reports") {
  if (cuda::is_on("GYRE_CUDA_POOL", true)) return report_skipped("GYRE_CUDA_POOL is not 0");
  Kernels& gpu = cuda_kernels(0);
  const Tensor kept = Tensor::zeros({3}, DType::f32, gpu.device());
  {
    const Tensor x = Tensor::zeros({300}, DType::f32, gpu.device());
    const Tensor longer = Tensor::view(x.raw(), {2 * x.size()}, x.dtype(), x.owner(), x.device());
    gpu.scale(longer, longer, 2);
  }
  CHECK_THROWS_WITH_AS(kept.to_cpu(), doctest::Contains(kMistake), Error);
  CHECK(kept.to_cpu().to_vector<float>() == std::vector<float>(3));
}
