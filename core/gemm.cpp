#include "core/gemm.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>

#include "core/error.h"

namespace gyre {
namespace {

CBLAS_TRANSPOSE operation(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

void call_blas(const Gemm<float>& g) {
  cblas_sgemm(CblasRowMajor, operation(g.transpose_a), operation(g.transpose_b), blasint(g.m), blasint(g.n),
              blasint(g.k), 1.0f, g.a, blasint(g.lda), g.b, blasint(g.ldb), g.beta, g.c, blasint(g.ldc));
}

void call_blas(const Gemm<double>& g) {
  cblas_dgemm(CblasRowMajor, operation(g.transpose_a), operation(g.transpose_b), blasint(g.m), blasint(g.n),
              blasint(g.k), 1.0, g.a, blasint(g.lda), g.b, blasint(g.ldb), g.beta, g.c, blasint(g.ldc));
}

// Turns OpenBLAS's own threads off, once; its call also sets OpenMP's number of threads.
void use_one_blas_thread() {
  static const bool done = [] {
    const int threads = omp_get_max_threads();
    openblas_set_num_threads(1);
    omp_set_num_threads(threads);
    return true;
  }();
  (void)done;
}

// OpenBLAS's own threads change the bits of a product. So C is cut along its longer side into panels that depend on the
// shape alone, and each panel is one single-threaded call.
template <class T>
void panels(const Gemm<T>& g) {
  constexpr int64_t kWorthThreads = 1 << 20;  // multiply-adds
  if (g.m == 0 || g.n == 0) return;
  use_one_blas_thread();
  const bool by_rows = g.m >= g.n;
  const int64_t length = by_rows ? g.m : g.n;
  const int64_t wanted = std::clamp<int64_t>(length / 128, 1, 16);
  const int64_t panel = ((length + wanted - 1) / wanted + 63) / 64 * 64, count = (length + panel - 1) / panel;
#pragma omp parallel for schedule(dynamic) if (count > 1 && g.m * g.n * g.k > kWorthThreads)
  for (int64_t p = 0; p < count; ++p) {
    const int64_t begin = p * panel, size = std::min(panel, length - begin);
    Gemm<T> part = g;
    if (by_rows) {
      part.m = size;
      part.a += begin * (g.transpose_a ? 1 : g.lda);
      part.c += begin * g.ldc;
    } else {
      part.n = size;
      part.b += begin * (g.transpose_b ? g.ldb : 1);
      part.c += begin;
    }
    call_blas(part);
  }
}

}  // namespace

void gemm(const Gemm<float>& g) { panels(g); }
void gemm(const Gemm<double>& g) { panels(g); }

std::string blas_kernels() { return openblas_get_corename(); }

std::string blas_advice() {
  const std::string chosen = blas_kernels();
  const bool wide = chosen == "SkylakeX" || chosen == "Cooperlake" || chosen == "Sapphirerapids";
  if (wide || !__builtin_cpu_supports("avx512f")) return {};
  return concat("OpenBLAS runs its ", chosen,
                " kernels although this CPU has AVX-512: unset OPENBLAS_CORETYPE, or set it to SkylakeX");
}

}  // namespace gyre
