// GPUs that are smaller than those that Gyre is developed on. The tests run alone, each with settings of the emulated
// GPU (tests/cuda_emulation/CMakeLists.txt).
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/hardware/cuda.h"
#include "tests/cuda_emulation/emulator/small_kernels.h"
#include "tests/errors.h"

using cuda_emulation::new_stream;
using namespace gyre;

namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

__global__ void empty_kernel() {}

bool has_setting(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

// Of 900 MiB, the first region of the tensors takes 512 and that of the uploads 16.
TEST_CASE("small GPU: the memory behind the last region is used, and shared between tensors and ids" *
          doctest::skip(!has_setting("GYRE_CUDA_EMULATION_MEMORY"))) {
  cuda::Context& context = cuda::Context::of(0);
  const auto ids = [](size_t bytes) {
    return Tensor::from<int32_t>({int64_t(bytes / 4)}, std::vector<int32_t>(bytes / 4));
  };
  const Tensor few = ids(4096), many = ids(100 * kMebibyte);
  CHECK(context.ids(few) != nullptr);
  const std::shared_ptr<void> in_region = context.allocate(300 * kMebibyte);
  std::shared_ptr<void> behind = context.allocate(300 * kMebibyte);
  CHECK(contains(error_of([&] { context.allocate(300 * kMebibyte); }), "out of memory on cuda:0"));
  CHECK(contains(error_of([&] { context.ids(many); }), "out of memory"));
  behind.reset();
  CHECK(context.ids(many) != nullptr);
}

TEST_CASE("small GPU: a kernel that needs more shared memory than there is, is named" *
          doctest::skip(!has_setting("GYRE_CUDA_EMULATION_MOST_SHARED"))) {
  const auto error = [](size_t kibibytes) {
    return error_of<UsageError>([&] { cuda::launch(empty_kernel, dim3(1), dim3(1), kibibytes << 10, new_stream()); });
  };
  CHECK(error(99) == "no error");
  CHECK(contains(error(100), "at most 99 KiB of shared memory, and "));
  CHECK(contains(error(100), "empty_kernel"));
  CHECK(contains(error(100), " needs 100: use narrower heads"));
}

TEST_CASE("small GPU: a GPU without compiled kernels is named before any kernel runs" *
          doctest::skip(!has_setting("GYRE_CUDA_EMULATION_NO_CODE"))) {
  CHECK(contains(error_of([] { cuda_kernels(0); }), "compute capability 9.0, and this gyre has no kernels for it"));
}
