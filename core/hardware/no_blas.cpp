// Stubs of the OpenBLAS interface for builds without OpenBLAS.
#include <omp.h>

#include "gyre/core/error.h"
#include "gyre/core/hardware/blas.h"

namespace gyre {

bool has_blas() { return false; }

std::string blas_kernels() { return "none"; }

std::string blas_advice() { return {}; }

int blas_threads() { return omp_get_max_threads(); }

void set_blas_threads(int threads) { omp_set_num_threads(threads); }

bool multiplies_by_blas() { return false; }

void allow_blas_products(bool) {}

namespace {
[[noreturn]] void throw_missing() { throw Error("[blas] this build has no OpenBLAS (GYRE_OPENBLAS=OFF)"); }
}  // namespace

void blas_gemm(int64_t, int64_t, int64_t, BlasOperand<float>, BlasOperand<float>, float*, int64_t, bool) {
  throw_missing();
}

void blas_gemm(int64_t, int64_t, int64_t, BlasOperand<double>, BlasOperand<double>, double*, int64_t, bool) {
  throw_missing();
}

}  // namespace gyre
