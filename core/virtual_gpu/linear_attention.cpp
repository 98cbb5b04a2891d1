// Linear attention: core/cuda/linear_attention.
#include <algorithm>

#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

void VirtualKernels::head_dot(const Tensor& y, const Tensor& x, const Tensor& /*w*/, double /*factor*/) {
  report_pass("dot product of heads", {y, x});
}

void VirtualKernels::head_dot_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                                       const Tensor& /*w*/, double /*factor*/) {
  if (x.size() == 0) return;
  const Tensor partial = dw ? partial_sums(x.rows(), x.cols(), x.dtype()) : Tensor();
  report({.name = "dot product gradient", .launches = dw ? 2 : 1, .bytes = bytes_of({dx, dy, x, partial, partial})});
}

// Each row of a segment updates and reads a matrix of features x width per head.
void VirtualKernels::linear_attention_scan(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                           const Segments& segments, int heads, ScanDirection /*direction*/) {
  if (segments.tokens() == 0) return;
  const int64_t features = (q ? q.cols() : k ? k.cols() : heads) / heads, width = out.cols() / heads;
  report({.name = "scan",
          .kind = GpuWork::Kind::arithmetic,
          .bytes = bytes_of({out, q, k, v}),
          .flops = 4 * double(segments.tokens()) * double(heads) * double(features) * double(width)});
}

void VirtualKernels::head_softmax(const Tensor& y, const Tensor& x, int /*heads*/) {
  report_pass("softmax of heads", {y, x});
}

void VirtualKernels::head_softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, int /*heads*/) {
  report_pass("softmax gradient of heads", {dx, dy, y});
}

void VirtualKernels::favor_features(const Tensor& y, const Tensor& p, const Tensor& x, int /*heads*/,
                                    double /*factor*/) {
  report_pass("random features", {y, p, x});
}

void VirtualKernels::favor_features_backward(const Tensor& dp, const Tensor& dx, const Tensor& dy, const Tensor& p,
                                             const Tensor& x, int /*heads*/, double /*factor*/) {
  report_pass("random features gradient", {dp, dx, dy, p, x});
}

void VirtualKernels::head_divide(const Tensor& y, const Tensor& a, const Tensor& b, double /*epsilon*/) {
  report_pass("division of heads", {y, a, b});
}

void VirtualKernels::head_divide_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a,
                                          const Tensor& b, double /*epsilon*/) {
  report_pass("division gradient of heads", {da, db, dy, a, b});
}

}  // namespace gyre::virtual_gpu
