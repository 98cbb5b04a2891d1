// The encodings and operations are those of the Intel SDM, volume 2. All instructions have a three-byte VEX prefix and
// opcode map 0F38:
//   LDTILECFG m512   NP 49 /0 (memory)    TILERELEASE  NP 49 C0
//   TILEZERO t       F2 49 /r (register)  TDPBF16PS    F3 5C /r (register)
//   TILELOADD t, m   F2 4B /r (memory)    TILESTORED m, t  F3 4B /r (memory)
#include "tests/amx_in_scope.h"

#include <csignal>
#include <cstdint>
#include <cstring>

#include "gyre/core/error.h"
#include "gyre/core/kernels/amx.h"

#ifdef __x86_64__
#include <ucontext.h>

#define GYRE_CPU_NAMESPACE amx_emulation
#include "gyre/core/cpu/gemm/bf16_dot.h"

namespace gyre {
namespace {

constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;

// The tile registers of a thread, and their shapes.
struct Tiles {
  uint8_t data[kTiles][kRows][kRowBytes];
  int rows[kTiles], row_bytes[kTiles];
  bool configured;
};
thread_local Tiles tiles;

// The operand of LDTILECFG.
struct Shapes {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(Shapes) == 64);

bool configure(const uint8_t* from) {
  Shapes shapes;
  std::memcpy(&shapes, from, sizeof shapes);
  if (shapes.palette != 1 || shapes.start_row != 0) return false;
  for (int t = 0; t < kTiles; ++t) {
    if (shapes.rows[t] > kRows || shapes.row_bytes[t] > kRowBytes) return false;
    tiles.rows[t] = shapes.rows[t];
    tiles.row_bytes[t] = shapes.row_bytes[t];
  }
  std::memset(tiles.data, 0, sizeof tiles.data);
  return tiles.configured = true;
}

void load_tile(int t, const uint8_t* from, int64_t stride) {
  std::memset(tiles.data[t], 0, sizeof tiles.data[t]);
  for (int i = 0; i < tiles.rows[t]; ++i) std::memcpy(tiles.data[t][i], from + i * stride, size_t(tiles.row_bytes[t]));
}

void store_tile(int t, uint8_t* to, int64_t stride) {
  for (int i = 0; i < tiles.rows[t]; ++i) std::memcpy(to + i * stride, tiles.data[t][i], size_t(tiles.row_bytes[t]));
}

template <class T>
T number(int t, int row, int at) {
  T result;
  std::memcpy(&result, &tiles.data[t][row][size_t(at) * sizeof(T)], sizeof(T));
  return result;
}

float product_sum(float sum, uint16_t a, uint16_t b) {
  return amx_emulation::fused_multiply_add_bf16(sum, std::bit_cast<float>(uint32_t(a) << 16),
                                                std::bit_cast<float>(uint32_t(b) << 16));
}

float sum(float a, float b) { return amx_emulation::fused_multiply_add_bf16(a, b, 1.0f); }

// c += a b. Even and odd summed indices have separate sums, which are added before they are added to c.
bool multiply_tiles(int c, int a, int b) {
  if (tiles.row_bytes[a] / 4 != tiles.rows[b] || tiles.rows[a] != tiles.rows[c]) return false;
  for (int m = 0; m < tiles.rows[c]; ++m) {
    for (int n = 0; n < tiles.row_bytes[c] / 4; ++n) {
      float even = 0, odd = 0;
      for (int k = 0; k < tiles.rows[b]; ++k) {
        even = product_sum(even, number<uint16_t>(a, m, 2 * k), number<uint16_t>(b, k, 2 * n));
        odd = product_sum(odd, number<uint16_t>(a, m, 2 * k + 1), number<uint16_t>(b, k, 2 * n + 1));
      }
      const float result = sum(number<float>(c, m, n), sum(even, odd));
      std::memcpy(&tiles.data[c][m][size_t(n) * sizeof(float)], &result, sizeof result);
    }
  }
  return true;
}

// A decoded instruction.
struct Instruction {
  int length = 0, prefix = 0, opcode = 0, modrm = 0, vvvv = 0;
  int64_t base = 0, index = 0;  // memory operand: base + displacement, index << scale
  bool has_memory() const { return modrm >> 6 != 3; }
  int reg() const { return modrm >> 3 & 7; }
  int rm() const { return modrm & 7; }
};

// The value of general register `number`, in the order of the encoding.
int64_t register_value(const greg_t* registers, int number) {
  constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return registers[kOrder[number]];
}

// Decodes the memory operand, which begins with the ModRM byte at `at`.
void decode_memory(Instruction& instruction, const uint8_t* start, const uint8_t* at, const greg_t* registers) {
  const int mod = *at >> 6, inverted = ~start[1];  // R, X and B of the prefix are inverted
  int rm = *at++ & 7;
  bool has_base = true;
  if (rm == 4) {  // a SIB byte follows
    const int sib = *at++, index = (sib >> 3 & 7) | (inverted >> 6 & 1) << 3;
    if (index != 4) instruction.index = register_value(registers, index) << (sib >> 6);
    rm = sib & 7;
    has_base = !(rm == 5 && mod == 0);
  }
  const bool relative = !has_base || (rm == 5 && mod == 0);  // a 32-bit displacement without a base, or from RIP
  const int bytes = mod == 1 ? 1 : mod == 2 || relative ? 4 : 0;
  int32_t displacement = 0;
  std::memcpy(&displacement, at, size_t(bytes));
  if (bytes == 1) displacement = int8_t(displacement);
  at += bytes;
  instruction.length = int(at - start);
  instruction.base = displacement;
  if (!relative) instruction.base += register_value(registers, rm | (inverted >> 5 & 1) << 3);
  if (relative && has_base) instruction.base += int64_t(at);
}

bool decode(Instruction& instruction, const uint8_t* start, const greg_t* registers) {
  constexpr int kVex3 = 0xC4, kMap0F38 = 2;
  if (start[0] != kVex3 || (start[1] & 31) != kMap0F38 || start[2] >> 7 != 0) return false;
  instruction.prefix = start[2] & 3;  // 0: none, 1: 66, 2: F3, 3: F2
  instruction.vvvv = ~start[2] >> 3 & 15;
  instruction.opcode = start[3];
  instruction.modrm = start[4];
  instruction.length = 5;
  if (instruction.has_memory()) decode_memory(instruction, start, start + 4, registers);
  return true;
}

bool execute(const Instruction& i) {
  constexpr int kNone = 0, kF3 = 2, kF2 = 3;
  auto* const memory = reinterpret_cast<uint8_t*>(i.base);
  if (i.opcode == 0x49 && i.prefix == kNone && i.has_memory()) return configure(memory);
  if (!tiles.configured) return false;
  if (i.opcode == 0x49 && i.prefix == kNone) return !(tiles.configured = false);
  if (i.opcode == 0x49 && i.prefix == kF2 && !i.has_memory()) {
    std::memset(tiles.data[i.reg()], 0, sizeof tiles.data[0]);
    return true;
  }
  if (i.opcode == 0x5C && i.prefix == kF3 && !i.has_memory()) return multiply_tiles(i.reg(), i.rm(), i.vvvv);
  if (i.opcode != 0x4B || !i.has_memory()) return false;
  if (i.prefix == kF2) load_tile(i.reg(), memory, i.index);
  if (i.prefix == kF3) store_tile(i.reg(), memory, i.index);
  return i.prefix == kF2 || i.prefix == kF3;
}

struct sigaction before;

void handle(int, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Instruction instruction;
  if (decode(instruction, reinterpret_cast<const uint8_t*>(registers[REG_RIP]), registers) && execute(instruction)) {
    registers[REG_RIP] += instruction.length;
  } else {
    sigaction(SIGILL, &before, nullptr);  // the instruction faults again, without this handler
  }
}

}  // namespace

AmxInScope::AmxInScope(bool on) : before_(uses_amx()), emulates_(on && !before_ && !has_amx()) {
  if (emulates_) {
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    require(sigaction(SIGILL, &action, &before) == 0, "[amx emulation] cannot handle SIGILL");
  }
  use_amx(on);
}

AmxInScope::~AmxInScope() {
  use_amx(before_);
  if (emulates_) sigaction(SIGILL, &before, nullptr);
}

}  // namespace gyre

#else
namespace gyre {

AmxInScope::AmxInScope(bool on) : before_(false), emulates_(false) {
  require(!on, "[amx emulation] AMX belongs to x86-64");
}
AmxInScope::~AmxInScope() = default;

}  // namespace gyre
#endif
