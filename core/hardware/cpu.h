// Detects the features of this machine's CPU, for the kernels and reports. Each architecture implements it in one file,
// cpu_x86_64.cpp or cpu_aarch64.cpp, with its widest multiply-add instruction (machine_limits.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gyre {

// The extension of the instruction set that multiplies bf16 ("AVX512-BF16" or "FEAT_BF16"), and whether the CPU has it.
const char* bf16_extension();
bool cpu_has_bf16();

// Extensions that matter for speed, for --build-info: name, present.
std::vector<std::pair<std::string, bool>> cpu_extensions();

// A line of advice if `kernels`, which OpenBLAS selected, are not the fastest for this CPU, otherwise empty.
std::string blas_advice_for(const std::string& kernels);

// True if the tile sizes of core/cpu/gemm were measured on this architecture. Elsewhere fp32 and fp64 products call
// OpenBLAS if the build has it.
bool has_tuned_products();

}  // namespace gyre
