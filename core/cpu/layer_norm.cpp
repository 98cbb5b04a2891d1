// y = gamma * xhat + beta, xhat = (x - mean) * rstd, over the last axis.
//   g  = gamma * dy
//   dx = rstd * (g - mean(g) - xhat * mean(g * xhat));  dgamma += sum_rows(dy * xhat);  dbeta += sum_rows(dy)
#include <cmath>
#include <vector>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class T, class C = Compute<T>>
void forward_row(T* y, C& mean, C& rstd, const T* x, const C* gamma, const C* beta, int64_t d, C epsilon) {
  C sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < d; ++j) sum += x[j];
  const C mu = sum / C(d);
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < d; ++j) squares += (x[j] - mu) * (x[j] - mu);
  const C r = C(1) / std::sqrt(squares / C(d) + epsilon);
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) y[j] = gamma[j] * (x[j] - mu) * r + beta[j];
  mean = mu;
  rstd = r;
}

template <class T, class C = Compute<T>>
void backward_row(T* dx, const T* dy, const T* x, const C* gamma, C mean, C rstd, int64_t d) {
  C sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
  for (int64_t j = 0; j < d; ++j) {
    const C g = gamma[j] * dy[j];
    sum += g;
    dot += g * (x[j] - mean) * rstd;
  }
  const C mean_g = sum / C(d), mean_gx = dot / C(d);
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) dx[j] = rstd * (gamma[j] * dy[j] - mean_g - (x[j] - mean) * rstd * mean_gx);
}

}  // namespace

void CpuKernels::layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                            const Tensor& gamma, const Tensor& beta, double epsilon) {
  with_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t d = x.cols();
    T* out = y.data<T>();
    C *m = mean.data<C>(), *r = rstd.data<C>();
    const T* in = x.data<T>();
    const C *g = gamma.data<C>(), *b = beta.data<C>();
    parallel_ranges(x.rows(), 4 * d, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) forward_row(out + i * d, m[i], r[i], in + i * d, g, b, d, C(epsilon));
    });
  });
}

void CpuKernels::layer_norm_backward(const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta, const Tensor& dy,
                                     const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd) {
  with_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t d = x.cols();
    const RowBlocks blocks(x.rows());
    const T *g = dy.data<T>(), *in = x.data<T>();
    const C *m = mean.data<C>(), *r = rstd.data<C>();
    T* out = data_or_null<T>(dx);
    std::vector<C> partial(size_t(blocks.count * 2 * d), C(0));  // per block: dgamma(d), dbeta(d)
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks.count; ++b) {
      C *pg = partial.data() + b * 2 * d, *pb = pg + d;
      for (int64_t i = blocks.begin(b); i < blocks.end(b); ++i) {
        if (out) backward_row(out + i * d, g + i * d, in + i * d, gamma.data<C>(), m[i], r[i], d);
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) {
          pg[j] += g[i * d + j] * (in[i * d + j] - m[i]) * r[i];
          pb[j] += g[i * d + j];
        }
      }
    }
    for (int64_t b = 0; b < blocks.count; ++b) {
      const C* p = partial.data() + b * 2 * d;
      for (int64_t j = 0; j < d; ++j) {
        if (dgamma) dgamma.data<C>()[j] += p[j];
        if (dbeta) dbeta.data<C>()[j] += p[d + j];
      }
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
