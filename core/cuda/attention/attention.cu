// Attention forward: prepares the arguments and selects the kernel.
#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {

namespace {

HeadColumns rotated(Kernels& kernels, const AttentionCall& call, const HeadColumns& x, const Tensor& positions,
                    int heads, int64_t width) {
  const HeadColumns copy{Tensor::empty({x.rows.rows(), heads * width}, x.rows.dtype(), x.rows.device())};
  RopeShape rope = call.rope;
  rope.heads = heads;
  kernels.rope(copy, x, positions, call.angles, rope, width, false);
  return copy;
}

}  // namespace

HeadColumns rotated_queries(Kernels& kernels, const AttentionCall& call, int64_t width) {
  return rotated(kernels, call, call.q, call.query_positions, call.shape.heads, width);
}
HeadColumns rotated_keys(Kernels& kernels, const AttentionCall& call, int64_t width) {
  return rotated(kernels, call, call.k, call.key_positions, call.shape.key_heads(), width);
}

void CudaKernels::attention(const Tensor& out, const Tensor& lse, const AttentionCall& call) {
  const int64_t width = out.cols() / call.shape.heads;
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  dispatch_data_type(out, [&](auto type) {
    using D = decltype(type);
    using T = Compute<D>;
    const PositionTableRows<T> tables(call.terms, call.shape, width, call.longest());
    const AttentionKernels kernels = attention_kernels<D>(
        width, tables, call, {rows_of<D>({out}), rows_of<D>(call.q), rows_of<D>(call.k), rows_of<D>(call.v)});
    const bool first = kernels != AttentionKernels::plain && rotates_first(call);
    const HeadColumns q = first ? rotated_queries(*this, call, width) : call.q;
    const HeadColumns k = first ? rotated_keys(*this, call, width) : call.k;
    const auto rope_rows = [&](const Tensor& positions) {
      return first ? RopeRows<T>() : make_rope_rows<T>(context_, call, positions);
    };
    const AttentionForward<D> a{rows_of<D>({out}),
                                data_or_null<T>(lse),
                                out.rows(),
                                rows_of<D>(q),
                                rows_of<D>(k),
                                rows_of<D>(call.v),
                                rope_rows(call.query_positions),
                                rope_rows(call.key_positions),
                                Scoring<T>(call, width)};
    run_attention(context_, kernels, a, tables, call);
  });
}

}  // namespace gyre::cuda
