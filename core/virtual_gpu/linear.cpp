// Linear layers: core/cuda/gemm.
#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {
namespace {

Precision operands(DType dtype, bool tf32) {
  if (dtype == DType::bf16) return Precision::bf16;
  return tf32 ? Precision::tf32 : Precision::fp32;
}

// The first n columns of c(m, at least n) = a b, or a b + `add`, with a(m,k) and b(k,n) of type `dtype` in any layout.
void report_product(const Tensor& c, int64_t n, int64_t k, DType dtype, bool tf32, const Tensor& add) {
  if (c.size() == 0 || k == 0) return;
  const int64_t m = c.rows();
  report({.name = "product",
          .kind = GpuWork::Kind::product,
          .bytes = double(m + n) * double(k) * double(dtype_bytes(dtype)) + bytes_of({c, add}),
          .flops = 2 * double(m) * double(n) * double(k),
          .precision = operands(dtype, tf32),
          .rows = m,
          .columns = n,
          .summed = k});
}

// The tensor in another type, by a pass of its own if it does not have the type.
Tensor in_type(const Tensor& t, DType dtype) {
  if (!t || t.dtype() == dtype) return t;
  Tensor rounded = temporary(t.shape(), dtype);
  report_pass("rounding to bf16", {rounded, t});
  return rounded;
}

void product_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& w,
                      const Tensor& dx_before, bool tf32) {
  if (!dx && !dw) return;
  const Tensor g = in_type(dy, x.dtype());
  if (dx) {
    const Tensor rounded = in_type(w, x.dtype());
    report_product(dx, dx.cols(), w.rows(), x.dtype(), tf32, dx_before);
  }
  if (dw) report_product(dw, dw.cols(), dy.rows(), x.dtype(), tf32, dw);
}

}  // namespace

void VirtualKernels::linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Tensor weights = in_type(w, x.dtype()), rounded_bias = in_type(bias, y.dtype());
  report_product(y, w.rows(), x.cols(), x.dtype(), tf32_, {});
}

void VirtualKernels::symmetric_product(const Tensor& y, const Tensor& x, const Tensor& w) { linear(y, x, w, {}); }

void VirtualKernels::linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                     const Tensor& x, const Tensor& w, const Tensor& dx_before) {
  product_backward(dx, dw, dy, x, w, dx_before, tf32_);
  if (!dbias || dy.size() == 0) return;
  const Tensor partial = partial_sums(dy.rows(), dbias.size(), dy.dtype());
  report({.name = "bias gradient", .launches = 2, .bytes = bytes_of({dy, partial, partial})});
}

void VirtualKernels::linear_activation(const Tensor& y, const Tensor& pre, const Tensor& x, const Tensor& w,
                                       const Tensor& bias, Activation kind, const DropoutMask& mask) {
  const bool fused = kind == Activation::relu && !pre && bias;
  linear(pre ? pre : y, x, w, bias);
  if (!fused || mask.rate > 0) report_pass(fused ? "dropout" : "activation", {y, pre ? pre : y}, mask);
}

void VirtualKernels::linear_activation_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias,
                                                const Tensor& dy, const Tensor& x, const Tensor& w, const Tensor& saved,
                                                const Tensor& dx_before, Activation kind, const DropoutMask& mask) {
  const Tensor dpre = dy.like();
  const Tensor partial = dbias ? partial_sums(dy.rows(), dy.cols(), dy.dtype()) : Tensor();
  if (dy.size() > 0) {
    report({.name = "activation gradient",
            .launches = dbias ? 2 : 1,
            .bytes = bytes_of({dpre, dy, saved, partial, partial}),
            .random_numbers = kind != Activation::relu && mask.rate > 0 ? double(dy.size()) : 0});
  }
  product_backward(dx, dw, dpre, x, w, dx_before, tf32_);
}

}  // namespace gyre::virtual_gpu
