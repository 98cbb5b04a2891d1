#include "core/blas.h"

#include <cblas.h>

#include "core/error.h"

namespace gyre {

std::string blas_kernels() { return openblas_get_corename(); }

std::string blas_advice() {
  const std::string chosen = blas_kernels();
  const bool wide = chosen == "SkylakeX" || chosen == "Cooperlake" || chosen == "Sapphirerapids";
  if (wide || !__builtin_cpu_supports("avx512f")) return {};
  return concat("OpenBLAS runs its ", chosen,
                " kernels although this CPU has AVX-512: unset OPENBLAS_CORETYPE, or set it to SkylakeX");
}

}  // namespace gyre
