// Attention forward: prepares the arguments and selects the kernel.
#include <algorithm>

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {

HeadColumns rotated_copy(Kernels& kernels, const HeadColumns& x, const Tensor& positions, const AttentionRope& rotation,
                         int heads, int64_t width) {
  const HeadColumns copy{Tensor::empty({x.rows.rows(), heads * width}, x.rows.dtype(), x.rows.device())};
  RopeShape rotary = rotation.rotary;
  rotary.heads = heads;
  kernels.rope(copy, x, positions, rotation.angles, rotary, width, false);
  return copy;
}

void CudaKernels::attention(const Tensor& out, const Tensor& lse, const HeadColumns& q, const HeadColumns& k,
                            const HeadColumns& v, const Segments& queries, const Segments& keys,
                            const AttentionShape& shape, const AttentionRope& rotation,
                            const AttentionPositionTerms& terms) {
  const int64_t width = out.cols() / shape.heads;
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  dispatch_data_type(out, [&](auto type) {
    using D = decltype(type);
    using T = Compute<D>;
    const DevicePositionTerms<T> device_terms(terms, shape, width, std::max(queries.longest(), keys.longest()));
    const bool on_tensor_cores = runs_on_tensor_cores<D>(
        width, device_terms, rotation, {rows_of<D>({out}), rows_of<D>(q), rows_of<D>(k), rows_of<D>(v)});
    const bool first = on_tensor_cores && rotates_first(rotation, queries, keys);
    const auto rotated = [&](const HeadColumns& x, const Tensor& positions, int heads) {
      return first ? rotated_copy(*this, x, positions, rotation, heads, width) : x;
    };
    const HeadColumns rotated_q = rotated(q, rotation.query_positions, shape.heads);
    const HeadColumns rotated_k = rotated(k, rotation.key_positions, shape.key_heads());
    const AttentionRope left = first ? AttentionRope() : rotation;
    const AttentionForward<D> a{rows_of<D>({out}),
                                data_or_null<T>(lse),
                                out.rows(),
                                rows_of<D>(rotated_q),
                                rows_of<D>(rotated_k),
                                rows_of<D>(v),
                                make_row_rotation<T>(context_, left, left.query_positions),
                                make_row_rotation<T>(context_, left, left.key_positions),
                                Scoring<T>(shape, width, k.rows.rows(), queries.longest())};
    run_attention(context_, on_tensor_cores, a, device_terms, queries, keys);
  });
}

}  // namespace gyre::cuda
