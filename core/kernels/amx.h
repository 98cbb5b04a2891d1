// Availability of Intel AMX, whose tile registers multiply bf16 matrices at several times the rate of AVX512-BF16.
#pragma once

#include <cstdint>

namespace gyre {

// Shapes of the tile registers, the operand of LDTILECFG: all have 16 rows of 64 bytes.
struct alignas(64) AmxTileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
// A constant in memory: GCC 12 takes only the first bytes of the operand for an input of the instruction.
constexpr AmxTileShapes kAmxTileShapes;

// True if the CPU has AMX-TILE and AMX-BF16, and Linux lets this process use the tile registers. The first call asks
// for this permission.
bool has_amx();

// True if bf16 products of the kernels for AVX-512 use AMX: at first, if has_amx().
bool uses_amx();

// For tests: uses AMX or not. On a CPU without AMX, the caller must emulate its instructions (tests/amx_in_scope.h).
// Must not be called while kernels run.
void use_amx(bool on);

}  // namespace gyre
