// loss = sum over pairs of max(0, margin - a + b). Uses one thread: there are few numbers per batch.
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::margin_loss(const Tensor& sums, const Tensor& scores, double margin) {
  dispatch_data_type(scores, [&]<class T>(T) {
    const T* x = scores.data<T>();
    const int64_t n = scores.size() / 2;
    double total = 0;
    int64_t correct = 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto a = double(Compute<T>(x[2 * i])), b = double(Compute<T>(x[2 * i + 1]));
      const double loss = margin - a + b;
      if (!(loss <= 0)) total += loss;  // NaN is added
      correct += a > b;
    }
    double* sum = sums.data<double>();
    sum[0] += total;
    sum[1] += total;
    sum[2] += double(n);
    sum[3] += double(correct);
  });
}

void CpuKernels::margin_loss_backward(const Tensor& dscores, const Tensor& scores, double margin, double dloss) {
  dispatch_data_type(scores, [&]<class T>(T) {
    using C = Compute<T>;
    T* dx = dscores.data<T>();
    const T* x = scores.data<T>();
    for (int64_t i = 0; i < scores.size(); i += 2) {
      const double loss = margin - double(C(x[i])) + double(C(x[i + 1]));
      const C slope = loss > 0 ? C(dloss) : C(0);
      dx[i] = -slope;
      dx[i + 1] = slope;
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
