// What this machine has of CUDA, and what it lacks.
#pragma once

#include <string>

namespace gyre::cuda {

constexpr int kOldestMajor = 8;  // compute capability: bf16 on the tensor cores, copies that go by

std::string version_text(int version);  // 13000: "13.0"
int gpu_count();                        // 0 where something is missing
std::string gpu_text(int index);        // "NVIDIA H200 (139 GiB, compute capability 9.0)"

// Why there is no GPU to work on, or why it cannot be GPU `index`: one line, empty when nothing stands in the way.
std::string what_is_missing();
std::string what_is_missing(int index);

}  // namespace gyre::cuda
