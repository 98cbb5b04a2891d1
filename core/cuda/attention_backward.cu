// Attention backward: which kernels, and what they get.
#include "core/cuda/attention_call.h"
#include "core/cuda/cuda_kernels.h"

namespace gyre::cuda {

void CudaKernels::attention_backward(const HeadColumns& dq, const HeadColumns& dk, const HeadColumns& dv,
                                     const Tensor& dfrequencies, const Tensor& dout, const HeadColumns& q,
                                     const HeadColumns& k, const HeadColumns& v, const Tensor& lse,
                                     const Segments& queries, const Segments& keys, const AttentionShape& shape,
                                     const AttentionRotation& rotation) {
  const int64_t width = dout.cols() / shape.heads;
  if (dfrequencies) {
    // Rarely wanted: of turned copies and their gradients.
    const Rotary& rotary = rotation.rotary;
    const auto scratch = [&](const HeadColumns& x) {
      return context_.empty({x.rows.rows(), dout.cols()}, dout.dtype());
    };
    const Tensor turned_q = scratch(q), turned_k = scratch(k), turned_dq = scratch(q), turned_dk = scratch(k);
    rope({turned_q}, q, rotation.query_positions, rotation.angles, rotary, width, false);
    rope({turned_k}, k, rotation.key_positions, rotation.angles, rotary, width, false);
    attention_backward({turned_dq}, {turned_dk}, dv, {}, dout, {turned_q}, {turned_k}, v, lse, queries, keys, shape,
                       {});
    rope_frequencies_backward(dfrequencies, turned_dq, turned_q, rotation.query_positions, rotary);
    rope_frequencies_backward(dfrequencies, turned_dk, turned_k, rotation.key_positions, rotary);
    if (dq.rows) rope(dq, {turned_dq}, rotation.query_positions, rotation.angles, rotary, width, true);
    if (dk.rows) rope(dk, {turned_dk}, rotation.key_positions, rotation.angles, rotary, width, true);
    return;
  }
  require(width <= kWidestHead, "[cuda attention] heads of at most ", kWidestHead, " features, got ", width);
  with_data_type(dout, [&](auto type) {
    using D = decltype(type);
    using T = Compute<D>;
    const Tensor sums = context_.empty({shape.heads, dout.rows()}, statistics_dtype(dout.dtype()));
    const AttentionBackward<D> a{rows_of<D>(dq),
                                 rows_of<D>(dk),
                                 rows_of<D>(dv),
                                 rows_of<D>({dout}),
                                 rows_of<D>(q),
                                 rows_of<D>(k),
                                 rows_of<D>(v),
                                 lse.data<T>(),
                                 sums.data<T>(),
                                 dout.rows(),
                                 row_turn<T>(context_, rotation, rotation.query_positions),
                                 row_turn<T>(context_, rotation, rotation.key_positions),
                                 Scoring<T>(shape, width, k.rows.rows(), queries.longest())};
    if constexpr (std::is_same_v<D, bfloat16>) {
      if (has_tensor_width(width)) return run_tensor(context_, a, queries, keys);
    }
    run_plain(context_, a, queries, keys);
  });
}

}  // namespace gyre::cuda
