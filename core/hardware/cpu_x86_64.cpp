#include <cpuid.h>
#include <immintrin.h>

#include <cstdlib>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/kernels/amx.h"
#include "gyre/core/kernels/unroll.h"

namespace gyre {

const char* bf16_extension() { return "AVX512-BF16"; }

bool cpu_has_bf16() { return __builtin_cpu_supports("avx512bf16"); }

std::vector<std::pair<std::string, bool>> cpu_extensions() {
  return {{bf16_extension(), cpu_has_bf16()}, {"AMX-BF16", has_amx()}};
}

std::string blas_advice_for(const std::string& kernels) {
  const bool wide = kernels == "SkylakeX" || kernels == "Cooperlake" || kernels == "Sapphirerapids";
  if (wide || !__builtin_cpu_supports("avx512f")) return {};
  // An OpenBLAS that is older than the CPU does not know it.
  return concat("OpenBLAS runs its ", kernels, " kernels although this CPU has AVX-512: ",
                std::getenv("OPENBLAS_CORETYPE") ? "unset OPENBLAS_CORETYPE, or set it to SkylakeX"
                                                 : "set OPENBLAS_CORETYPE=SkylakeX");
}

bool has_tuned_products() { return true; }

namespace {

// Written in assembly, because the compiler would merge the equal sums or remove them. AddressSanitizer would keep them
// in memory.
#define GYRE_REPEAT_INSTRUCTION(Vector, instruction, rounds)                                                      \
  Vector sums[MultiplyAdd::kSums] = {}, numbers = {};                                                             \
  for (int64_t round = 0; round < (rounds); ++round) {                                                            \
    GYRE_UNROLL for (Vector & sum : sums) { asm volatile(instruction " %1, %1, %0" : "+v"(sum) : "v"(numbers)); } \
  }

[[gnu::target("avx512f,avx512bf16"), gnu::no_sanitize_address]] void repeat_dot_products(int64_t rounds) {
  GYRE_REPEAT_INSTRUCTION(__m512, "vdpbf16ps", rounds)
}
[[gnu::target("avx512f,avx512vnni"), gnu::no_sanitize_address]] void repeat_int8_dot_products(int64_t rounds) {
  GYRE_REPEAT_INSTRUCTION(__m512i, "vpdpbusd", rounds)
}
[[gnu::target("avx2,avxvnni"), gnu::no_sanitize_address]] void repeat_narrow_int8_dot_products(int64_t rounds) {
  GYRE_REPEAT_INSTRUCTION(__m256i, "%{vex%} vpdpbusd", rounds)
}
[[gnu::target("avx512f"), gnu::no_sanitize_address]] void repeat_wide_multiply_adds(int64_t rounds) {
  GYRE_REPEAT_INSTRUCTION(__m512, "vfmadd231ps", rounds)
}
[[gnu::target("avx2,fma"), gnu::no_sanitize_address]] void repeat_multiply_adds(int64_t rounds) {
  GYRE_REPEAT_INSTRUCTION(__m256, "vfmadd231ps", rounds)
}
#undef GYRE_REPEAT_INSTRUCTION

[[gnu::target("amx-tile,amx-bf16")]] void repeat_tile_products(int64_t rounds) {
  _tile_loadconfig(&kAmxTileShapes);
  for (int64_t round = 0; round < rounds; ++round) {
    GYRE_UNROLL for (int i = 0; i < MultiplyAdd::kSums / 4; ++i) {  // four tiles of sums
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_release();
}

// Not all compilers know the name of this extension at run time. CPUID leaf 7.1, EAX bit 4 (Intel SDM volume 2).
bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 4 & 1) != 0;
}

}  // namespace

MultiplyAdd widest_multiply_add(Precision precision) {
  if (precision == Precision::bf16) {
    if (uses_amx()) return {"TDPBF16PS", repeat_tile_products, 2.0 * 16 * 16 * 32, 1 << 16};
    require(__builtin_cpu_supports("avx512bf16"), "[machine limits] this CPU lacks AVX512-BF16");
    return {"VDPBF16PS", repeat_dot_products, 2.0 * 32};
  }
  if (precision == Precision::int8 && __builtin_cpu_supports("avx512vnni"))
    return {"VPDPBUSD on 512 bits", repeat_int8_dot_products, 2.0 * 64};
  if (precision == Precision::int8 && has_avx_vnni())
    return {"VPDPBUSD on 256 bits", repeat_narrow_int8_dot_products, 2.0 * 32};
  if (__builtin_cpu_supports("avx512f")) return {"VFMADD231PS on 512 bits", repeat_wide_multiply_adds, 2.0 * 16};
  require(__builtin_cpu_supports("fma"), "[machine limits] this CPU lacks a fused multiply-add");
  return {"VFMADD231PS on 256 bits", repeat_multiply_adds, 2.0 * 8};
}

}  // namespace gyre
