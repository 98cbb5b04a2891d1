// Operations of a whole warp: shuffles, tensor core products and matrix loads, after the tables of the PTX ISA
// (sections "Warp Level Matrix Instructions" and "shfl.sync"), and calls of products of warpgroups (hopper.h).
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>

#include "cuda_emulation/hooks.h"

namespace cuda_emulation {

constexpr int kWarp = 32;

// The call of one lane.
struct WarpOperation {
  enum class Kind {
    shuffle,
    sync,
    multiply,
    load_matrices,
    load_matrices_transposed,
    multiply_async,
    fence_products,
    commit_products,
    wait_products
  };
  Kind kind;
  std::source_location at;
  uint64_t bits = 0;  // shuffle: operand
  uint64_t* result = nullptr;
  int source = 0;      // shuffle: lane that gives the result
  float* d = nullptr;  // multiply: d(16,8) += a(16,16) b(16,8)
  const uint32_t *a = nullptr, *b = nullptr;
  uint32_t* to = nullptr;                  // load_matrices: results of four matrices
  const void* row = nullptr;               // load_matrices: address of one row of 16 bytes
  const AsyncProduct* product = nullptr;   // multiply_async
  int groups = 0;                          // wait_products: of products that may be pending afterwards
  const float* const* finished = nullptr;  // wait_products: sums that must be finished then, and their number
  size_t count = 0;

  bool is_async() const { return kind >= Kind::multiply_async; }
  const char* name() const;
};

using WarpOperations = std::array<WarpOperation*, kWarp>;  // operations by lane

// Returns a description of the mistake if the lanes called different operations, else "".
std::string difference(const WarpOperations& lanes);
void perform(const WarpOperations& lanes);  // if it is not of a warpgroup

}  // namespace cuda_emulation
