#include "tests/cuda_emulation/warp.h"

#include <bit>
#include <cstring>
#include <utility>

#include "tests/cuda_emulation/report.h"

namespace cuda_emulation {
namespace {

using Kind = WarpOperation::Kind;

void shuffle_lanes(const WarpOperations& lanes) {
  for (WarpOperation* lane : lanes) *lane->result = lanes[size_t(lane->source)]->bits;
}

// Register i of lane 4 g + t holds row g, columns 2 t and 2 t + 1, of matrix i, whose rows lanes 8 i .. 8 i + 7 give.
void load_lanes(const WarpOperations& lanes, bool transposed) {
  for (int lane = 0; lane < kWarp; ++lane) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      uint32_t word = 0;
      for (int half = 0; half < 2; ++half) {
        int row = lane / 4, column = lane % 4 * 2 + half;
        if (transposed) std::swap(row, column);
        uint16_t element;
        std::memcpy(&element, static_cast<const uint16_t*>(lanes[size_t(8 * matrix + row)]->row) + column, 2);
        word |= uint32_t(element) << (16 * half);
      }
      lanes[size_t(lane)]->to[matrix] = word;
    }
  }
}

float half_of(uint32_t word, int half) { return std::bit_cast<float>(half ? word & 0xFFFF0000 : word << 16); }

// Fragments of mma.m16n8k16 for bf16, with g = lane / 4 and t = lane % 4. Register r of a holds row g + 8 (r % 2),
// columns 2 t + 8 (r / 2) and the next one; register r of b rows 2 t + 8 r and the next one of column g; d has row
// g + 8 (c / 2), column 2 t + c % 2.
void multiply_lanes(const WarpOperations& lanes) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < kWarp; ++lane) {
    const WarpOperation& operation = *lanes[size_t(lane)];
    const int g = lane / 4, t = lane % 4;
    for (int half = 0; half < 2; ++half) {
      for (int r = 0; r < 4; ++r) a[g + 8 * (r % 2)][2 * t + 8 * (r / 2) + half] = half_of(operation.a[r], half);
      for (int r = 0; r < 2; ++r) b[2 * t + 8 * r + half][g] = half_of(operation.b[r], half);
    }
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    for (int c = 0; c < 4; ++c) {
      float& sum = lanes[size_t(lane)]->d[c];
      for (int k = 0; k < 16; ++k) sum += a[lane / 4 + 8 * (c / 2)][k] * b[k][lane % 4 * 2 + c % 2];
    }
  }
}

}  // namespace

const char* WarpOperation::name() const {
  constexpr const char* names[] = {"__shfl_sync", "__syncwarp",         "mma",
                                   "ldmatrix",    "ldmatrix.trans",     "wgmma",
                                   "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"};
  return names[int(kind)];
}

std::string difference(const WarpOperations& lanes) {
  const WarpOperation& first = *lanes[0];
  for (const WarpOperation* lane : lanes) {
    if (lane->kind == first.kind && lane->at.line() == first.at.line()) continue;
    return std::string("diverged warp operations: ") + first.name() + " at " + place(first.at) + " and " +
           lane->name() + " at " + place(lane->at);
  }
  return "";
}

void perform(const WarpOperations& lanes) {
  switch (lanes[0]->kind) {
    case Kind::shuffle:
      return shuffle_lanes(lanes);
    case Kind::multiply:
      return multiply_lanes(lanes);
    case Kind::load_matrices:
      return load_lanes(lanes, false);
    case Kind::load_matrices_transposed:
      return load_lanes(lanes, true);
    default:
      return;
  }
}

}  // namespace cuda_emulation
