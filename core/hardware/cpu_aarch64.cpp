#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/kernels/unroll.h"

namespace gyre {

const char* bf16_extension() { return "FEAT_BF16"; }

bool cpu_has_bf16() { return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; }

std::vector<std::pair<std::string, bool>> cpu_extensions() { return {{bf16_extension(), cpu_has_bf16()}}; }

std::string blas_advice_for(const std::string&) { return {}; }

bool has_tuned_products() { return false; }

namespace {

// Written in assembly, because the compiler would merge the equal sums or remove them.
#define GYRE_REPEAT_INSTRUCTION(instruction, operand, rounds)                                     \
  float32x4_t sums[MultiplyAdd::kSums] = {}, numbers = {};                                        \
  for (int64_t round = 0; round < (rounds); ++round) {                                            \
    GYRE_UNROLL for (float32x4_t & sum : sums) {                                                  \
      asm volatile(instruction " %0.4s, %1." operand ", %1." operand : "+w"(sum) : "w"(numbers)); \
    }                                                                                             \
  }

[[gnu::target("+bf16")]] void repeat_matrix_products(int64_t rounds) { GYRE_REPEAT_INSTRUCTION("bfmmla", "8h", rounds) }
void repeat_multiply_adds(int64_t rounds) { GYRE_REPEAT_INSTRUCTION("fmla", "4s", rounds) }
#undef GYRE_REPEAT_INSTRUCTION

}  // namespace

MultiplyAdd widest_multiply_add(Precision precision) {
  if (precision != Precision::bf16) return {"FMLA", repeat_multiply_adds, 2.0 * 4};
  require(cpu_has_bf16(), "[machine limits] this CPU lacks ", bf16_extension());
  return {"BFMMLA", repeat_matrix_products, 2.0 * 16};
}

}  // namespace gyre
