// Detection of the CUDA driver and the GPUs of this machine.
#pragma once

#include <string>

namespace gyre::cuda {

constexpr int kOldestMajor = 8;  // minimum compute capability, for bf16 tensor cores and asynchronous copies

std::string version_text(int version);  // "13.0" for 13000
int gpu_count();                        // 0 if there is no usable driver
std::string gpu_text(int index);        // "NVIDIA H200 (139 GiB, compute capability 9.0)"

// The reason why no GPU, or GPU `index`, can be used, in one line. Empty if it can.
std::string missing_requirement();
std::string missing_requirement(int index);
// The reason why the kernels cannot run on the current GPU, of which it creates the context: they were compiled for
// others. Empty if they can.
std::string missing_code();

}  // namespace gyre::cuda
