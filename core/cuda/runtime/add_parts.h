// Sums of the parts that the processes contribute to a gradient.
#pragma once

#include <cuda_runtime.h>

#include "gyre/core/tensor.h"

namespace gyre::cuda {

// GpuCollectives::add_parts() on a stream.
void add_parts(cudaStream_t stream, const Tensor& out, const Tensor& parts);

}  // namespace gyre::cuda
