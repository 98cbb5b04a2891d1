#include "gyre/core/hardware/gpu_peaks.h"

#include <doctest/doctest.h>

#include <string>

using namespace gyre;

TEST_CASE("peaks of GPUs are found by the words of the driver's name") {
  const auto bf16_of = [](const std::string& device) {
    const GpuPeaks* const peaks = find_gpu_peaks(device);
    return peaks == nullptr ? 0 : peaks->of(Precision::bf16) / 1e12;
  };
  CHECK(bf16_of("cuda (NVIDIA H200)") == 989);
  CHECK(bf16_of("NVIDIA H100 80GB HBM3") == 989);
  CHECK(bf16_of("NVIDIA H100 PCIe") == 756);
  CHECK(bf16_of("NVIDIA H100 NVL") == 835);
  CHECK(bf16_of("NVIDIA GH200 480GB") == 989);
  CHECK(bf16_of("NVIDIA A100-SXM4-80GB") == 312);
  CHECK(bf16_of("NVIDIA L40S") == 362);
  CHECK(bf16_of("NVIDIA GeForce RTX 4090") == 165.2);
  for (const char* other :
       {"NVIDIA A10G", "NVIDIA L40", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "emulated", ""})
    CHECK_MESSAGE(find_gpu_peaks(other) == nullptr, other);
  CHECK(find_gpu_peaks("NVIDIA H200")->of(Precision::tf32) == 494e12);
  CHECK(find_gpu_peaks("NVIDIA H200")->of(Precision::fp32) == 67e12);
}
