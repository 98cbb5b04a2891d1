// y = gamma * xhat + beta, xhat = (x - mean) * rstd, over the last axis. In RMS norm, the mean counts as 0.
//   g  = gamma * dy
//   dx = rstd * (g - mean(g) - xhat * mean(g * xhat));  dgamma += sum_rows(dy * xhat);  dbeta += sum_rows(dy)
// With a residual connection, the normalized row is sum = residual + keep * x, with keep the dropout factors:
//   dresidual = dsum;  dx = keep * dsum;  dbias += sum_rows(dx)
#include <algorithm>
#include <cmath>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/dropout_factors.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Parameters, and the statistics of all rows.
template <class C>
struct Norm {
  const C *gamma, *beta;  // beta may be null
  C *mean, *rstd;         // mean is null for RMS norm
  C epsilon;
};

// Normalizes one row of d elements; y may be x.
template <class T, class C>
void normalize(T* y, const T* x, const Norm<C>& norm, int64_t row, int64_t d) {
  const C *gamma = norm.gamma, *beta = norm.beta;
  C mean = 0, squares = 0;
  if (norm.mean) {
    C sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < d; ++j) sum += x[j];
    norm.mean[row] = mean = sum / C(d);
  }
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < d; ++j) squares += (x[j] - mean) * (x[j] - mean);
  const C rstd = norm.rstd[row] = C(1) / std::sqrt(squares / C(d) + norm.epsilon);
  if (beta) {
#pragma omp simd
    for (int64_t j = 0; j < d; ++j) y[j] = gamma[j] * (x[j] - mean) * rstd + beta[j];
  } else {
#pragma omp simd
    for (int64_t j = 0; j < d; ++j) y[j] = gamma[j] * (x[j] - mean) * rstd;
  }
}

template <class T, class C = Compute<T>>
void add_branch(T* sum, const T* residual, const T* x, int64_t row, int64_t d, const DropoutMask& mask) {
  for_ranges_of_mask<C>(d, row * d, mask, [=](int64_t begin, int64_t end, auto keep) {
#pragma omp simd
    for (int64_t j = begin; j < end; ++j) sum[j] = residual[j] + x[j] * keep(j);
  });
}

template <class T, class C = Compute<T>>
struct BackwardRow {
  T *dx, *dresidual;  // null where a gradient is not needed
  const T* before;    // added to the rounded dresidual; may be null
  const T *dy, *sum;
  const C* gamma;
  C mean, rstd;
  bool centered;  // false for RMS norm
};

// to = before + f, with f rounded first: a strip of f is stored, so that the compiler does not fuse its last
// multiplication with the sum. The bits are those of two passes.
template <class T, class F>
void add_in_strips(T* to, const T* before, int64_t d, F f) {
  constexpr int64_t kStrip = 256;
  T strip[kStrip];
  for (int64_t begin = 0; begin < d; begin += kStrip) {
    const int64_t count = std::min(kStrip, d - begin);
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) strip[j] = f(begin + j);
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) to[begin + j] = before[begin + j] + strip[j];
  }
}

// Computes the gradients of one row, and adds the row's terms to dgamma, dbeta and, unless it is null, dbias.
template <class T, class C>
void backward_row(C* dgamma, C* dbeta, C* dbias, const BackwardRow<T, C>& r, int64_t row, int64_t d,
                  const DropoutMask& mask) {
  const T *dy = r.dy, *x = r.sum;
  const C *gamma = r.gamma, mean = r.mean, rstd = r.rstd;
  C sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
  for (int64_t j = 0; j < d; ++j) {
    const C slope = dy[j], xhat = (x[j] - mean) * rstd, g = gamma[j] * slope;
    sum += g;
    dot += g * xhat;
    dgamma[j] += slope * xhat;
    dbeta[j] += slope;
  }
  const C mean_g = r.centered ? sum / C(d) : C(0), mean_gx = dot / C(d);
  const auto dsum = [=](int64_t j) { return rstd * (gamma[j] * dy[j] - mean_g - (x[j] - mean) * rstd * mean_gx); };
  if (r.dresidual && r.before) {
    add_in_strips(r.dresidual, r.before, d, dsum);
  } else if (T* to = r.dresidual) {
#pragma omp simd
    for (int64_t j = 0; j < d; ++j) to[j] = dsum(j);
  }
  if (T* to = r.dx) {
    for_ranges_of_mask<C>(d, row * d, mask, [=](int64_t begin, int64_t end, auto keep) {
#pragma omp simd
      for (int64_t j = begin; j < end; ++j) to[j] = dsum(j) * keep(j);
    });
    // A loop of its own, so that the sums are those of the stored numbers.
    if (dbias) {
#pragma omp simd
      for (int64_t j = 0; j < d; ++j) dbias[j] += to[j];
    }
  }
}

// Results of the backward pass. `before` is added to dresidual. Each may be undefined.
struct NormGradients {
  const Tensor &dx, &dresidual, &before, &dgamma, &dbeta, &dbias;
};

void norm_backward(const NormGradients& to, const Tensor& dy, const Tensor& sum, const Tensor& gamma,
                   const Tensor& mean, const Tensor& rstd, const DropoutMask& mask) {
  dispatch_data_type(
      dy, [&]<class T, class C = Compute<T>>(T) {
        const int64_t d = dy.cols();
        const auto row_of = [d](const Tensor& t, int64_t i) { return t ? t.data<T>() + i * d : nullptr; };
        const RowBlocks blocks(dy.rows());
        const int64_t sums = to.dbias ? 3 : 2;                          // dgamma and dbeta are always summed
        std::vector<C> partial(size_t(blocks.count * sums * d), C(0));  // dgamma(d), dbeta(d), dbias(d) of each block
#pragma omp parallel for schedule(static)
        for (int64_t b = 0; b < blocks.count; ++b) {
          C *pg = partial.data() + b * sums * d, *pb = pg + d, *pbias = to.dbias ? pb + d : nullptr;
          for (int64_t i = blocks.begin(b); i < blocks.end(b); ++i) {
            const BackwardRow<T> row{
                row_of(to.dx, i), row_of(to.dresidual, i),         row_of(to.before, i), row_of(dy, i), row_of(sum, i),
                gamma.data<C>(),  mean ? mean.data<C>()[i] : C(0), rstd.data<C>()[i],    mean.defined()};
            backward_row(pg, pb, pbias, row, i, d, mask);
          }
        }
        for (int64_t b = 0; b < blocks.count; ++b) {
          const C* p = partial.data() + b * sums * d;
          for (int64_t j = 0; j < d; ++j) {
            if (to.dgamma) to.dgamma.data<C>()[j] += p[j];
            if (to.dbeta) to.dbeta.data<C>()[j] += p[d + j];
            if (to.dbias) to.dbias.data<C>()[j] += p[2 * d + j];
          }
        }
      });
}

}  // namespace

void CpuKernels::layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                            const Tensor& gamma, const Tensor& beta, double epsilon) {
  dispatch_data_type(
      x, [&]<class T, class C = Compute<T>>(T) {
        const int64_t d = x.cols();
        const Norm<C> norm{gamma.data<C>(), data_or_null<C>(beta), data_or_null<C>(mean), rstd.data<C>(), C(epsilon)};
        T* out = y.data<T>();
        const T* in = x.data<T>();
        parallel_ranges(x.rows(), 4 * d, [=](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) normalize(out + i * d, in + i * d, norm, i, d);
        });
      });
}

void CpuKernels::layer_norm_backward(const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta, const Tensor& dy,
                                     const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                                     const Tensor& dx_before) {
  norm_backward({{}, dx, dx_before, dgamma, dbeta, {}}, dy, x, gamma, mean, rstd, {});
}

void CpuKernels::residual_layer_norm(const Tensor& y, const Tensor& sum, const Tensor& mean, const Tensor& rstd,
                                     const Tensor& x, const Tensor& residual, const Tensor& gamma, const Tensor& beta,
                                     double epsilon, const DropoutMask& mask) {
  dispatch_data_type(
      x, [&]<class T, class C = Compute<T>>(T) {
        const int64_t d = x.cols();
        const Norm<C> norm{gamma.data<C>(), beta.data<C>(), mean.data<C>(), rstd.data<C>(), C(epsilon)};
        T *out = y.data<T>(), *sums = sum ? sum.data<T>() : out;
        const T *in = x.data<T>(), *base = residual.data<T>();
        parallel_ranges(x.rows(), 8 * d, [=](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            add_branch(sums + i * d, base + i * d, in + i * d, i, d, mask);
            normalize(out + i * d, sums + i * d, norm, i, d);
          }
        });
      });
}

void CpuKernels::residual_layer_norm_backward(const Tensor& dx, const Tensor& dresidual, const Tensor& dgamma,
                                              const Tensor& dbeta, const Tensor& dbias, const Tensor& dy,
                                              const Tensor& sum, const Tensor& gamma, const Tensor& mean,
                                              const Tensor& rstd, const DropoutMask& mask) {
  require(!dbias || dx, "[residual_layer_norm_backward] dbias is a sum of dx, and requires it");
  norm_backward({dx, dresidual, {}, dgamma, dbeta, dbias}, dy, sum, gamma, mean, rstd, mask);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
