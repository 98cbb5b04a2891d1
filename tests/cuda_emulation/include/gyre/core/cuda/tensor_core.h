// The emulator's version of core/cuda/tensor_core.h, which the include path finds first: the same functions without
// PTX.
#pragma once

#include <cuda_bf16.h>

#include "cuda_emulation/hooks.h"

namespace gyre::cuda {

inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                     std::source_location at = std::source_location::current()) {
  cuda_emulation::multiply_matrices(d, a, b, at);
}
inline void load_matrices(uint32_t (&to)[4], const void* row,
                          std::source_location at = std::source_location::current()) {
  cuda_emulation::load_matrices(to, row, false, at);
}
inline void load_matrices_transposed(uint32_t (&to)[4], const void* row,
                                     std::source_location at = std::source_location::current()) {
  cuda_emulation::load_matrices(to, row, true, at);
}

inline void copy_async(void* shared, const void* global, bool inside) {
  cuda_emulation::copy_async(shared, global, inside);
}
inline void commit_copies() { cuda_emulation::commit_copies(); }
template <int groups>
void wait_copies() {
  cuda_emulation::wait_copies(groups);
}

inline void named_barrier(int id, int threads, std::source_location at = std::source_location::current()) {
  cuda_emulation::named_barrier(id, threads, at);
}

inline uint32_t pack_bf16(float low, float high) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(low)) | uint32_t(__bfloat16_as_ushort(__float2bfloat16_rn(high)))
                                                              << 16;
}
inline float fast_exp2(float x) {
  const float power = std::exp2(x);
  return power < 0x1p-126f ? 0 : power;
}

}  // namespace gyre::cuda
