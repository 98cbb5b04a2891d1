// loss = sum over rows of (x - target)^2;  dx = 2 dloss (x - target). Uses one thread: there are few numbers per batch.
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::squared_error(const Tensor& sums, const Tensor& predictions, const Tensor& targets) {
  dispatch_data_type(predictions, [&]<class T>(T) {
    const T* x = predictions.data<T>();
    const float* target = targets.data<float>();
    const int64_t n = predictions.size();
    double total = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double error = double(Compute<T>(x[i])) - double(target[i]);
      total += error * error;
    }
    double* sum = sums.data<double>();
    sum[0] += total;
    sum[1] += total;
    sum[2] += double(n);
  });
}

void CpuKernels::squared_error_backward(const Tensor& dpredictions, const Tensor& predictions, const Tensor& targets,
                                        double dloss) {
  dispatch_data_type(predictions, [&]<class T>(T) {
    using C = Compute<T>;
    T* dx = dpredictions.data<T>();
    const T* x = predictions.data<T>();
    const float* target = targets.data<float>();
    const C twice = C(2 * dloss);
    for (int64_t i = 0; i < predictions.size(); ++i) dx[i] = twice * (C(x[i]) - C(target[i]));
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
