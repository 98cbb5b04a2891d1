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

void blas_sgemm(int, int, int, const float*, const float*, float*) {
  throw Error("[blas] this build has no OpenBLAS (GYRE_OPENBLAS=OFF)");
}

}  // namespace gyre
