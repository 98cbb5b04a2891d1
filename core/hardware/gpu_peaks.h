// Peaks of matrix products of GPUs by NVIDIA's data sheets.
#pragma once

#include <string_view>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

struct GpuPeaks {
  const char* words;  // words of the name that the driver reports: "H100 PCIe"
  // FLOP/s of dense products: bf16 and tf32 of the tensor cores with sums in fp32, fp32 without tensor cores.
  double bf16 = 0, tf32 = 0, fp32 = 0;

  double of(Precision precision) const;
};

// Whether the driver's name of a device ("NVIDIA H100 PCIe") has each of these words, and no letter or digit next to
// it: "GH200" is not an H200.
bool names_gpu(std::string_view device, std::string_view words);

// The peaks of a device by the driver's name, or nullptr if it is of another kind, or part of a GPU (MIG).
const GpuPeaks* find_gpu_peaks(std::string_view device);

}  // namespace gyre
