#include "gyre/core/error.h"
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/kernels/amx.h"

namespace gyre {

const char* bf16_extension() { return "AVX512-BF16"; }

bool cpu_has_bf16() { return __builtin_cpu_supports("avx512bf16"); }

std::vector<std::pair<std::string, bool>> cpu_extensions() {
  return {{bf16_extension(), cpu_has_bf16()}, {"AMX-BF16", has_amx()}};
}

std::string blas_advice_for(const std::string& kernels) {
  const bool wide = kernels == "SkylakeX" || kernels == "Cooperlake" || kernels == "Sapphirerapids";
  if (wide || !__builtin_cpu_supports("avx512f")) return {};
  return concat("OpenBLAS runs its ", kernels,
                " kernels although this CPU has AVX-512: unset OPENBLAS_CORETYPE, or set it to SkylakeX");
}

bool has_tuned_products() { return true; }

}  // namespace gyre
