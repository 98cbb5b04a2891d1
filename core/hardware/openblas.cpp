#include <cblas.h>

#include <limits>

#include "gyre/core/error.h"
#include "gyre/core/hardware/blas.h"
#include "gyre/core/hardware/cpu.h"

namespace gyre {

bool has_blas() { return true; }

std::string blas_kernels() { return openblas_get_corename(); }

std::string blas_advice() { return blas_advice_for(blas_kernels()); }

int blas_threads() { return openblas_get_num_threads(); }

void set_blas_threads(int threads) { openblas_set_num_threads(threads); }

namespace {

bool products_are_allowed = true;

CBLAS_TRANSPOSE order(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

// The sizes and strides of OpenBLAS are of type int in Debian's packages.
blasint blas_int(int64_t n) {
  require(n <= std::numeric_limits<blasint>::max(), "[blas] a matrix is too large for OpenBLAS: ", n);
  return blasint(n);
}

}  // namespace

bool multiplies_by_blas() { return products_are_allowed && !has_tuned_products(); }

void allow_blas_products(bool allowed) { products_are_allowed = allowed; }

void blas_gemm(int64_t m, int64_t n, int64_t k, BlasOperand<float> a, BlasOperand<float> b, float* c, int64_t ldc,
               bool accumulate) {
  cblas_sgemm(CblasRowMajor, order(a.transposed), order(b.transposed), blas_int(m), blas_int(n), blas_int(k), 1, a.data,
              blas_int(a.stride), b.data, blas_int(b.stride), accumulate ? 1 : 0, c, blas_int(ldc));
}

void blas_gemm(int64_t m, int64_t n, int64_t k, BlasOperand<double> a, BlasOperand<double> b, double* c, int64_t ldc,
               bool accumulate) {
  cblas_dgemm(CblasRowMajor, order(a.transposed), order(b.transposed), blas_int(m), blas_int(n), blas_int(k), 1, a.data,
              blas_int(a.stride), b.data, blas_int(b.stride), accumulate ? 1 : 0, c, blas_int(ldc));
}

}  // namespace gyre
