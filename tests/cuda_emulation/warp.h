// Operations of a whole warp: shuffles, tensor core products and matrix loads, after the tables of the PTX ISA
// (sections "Warp Level Matrix Instructions" and "shfl.sync").
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>

namespace cuda_emulation {

constexpr int kWarp = 32;

// The call of one lane.
struct WarpOperation {
  enum class Kind { shuffle, sync, multiply, load_matrices, load_matrices_transposed };
  Kind kind;
  std::source_location at;
  uint64_t bits = 0;  // shuffle: operand
  uint64_t* result = nullptr;
  int source = 0;      // shuffle: lane that gives the result
  float* d = nullptr;  // multiply: d(16,8) += a(16,16) b(16,8)
  const uint32_t *a = nullptr, *b = nullptr;
  uint32_t* to = nullptr;     // load_matrices: results of four matrices
  const void* row = nullptr;  // load_matrices: address of one row of 16 bytes

  const char* name() const;
};

using WarpOperations = std::array<WarpOperation*, kWarp>;  // operations by lane

// Performs the operation. Returns a description of the mistake if the lanes called different ones, else "".
std::string perform(const WarpOperations& lanes);

}  // namespace cuda_emulation
