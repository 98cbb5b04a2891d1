// Attention forward: prepares the arguments and selects the kernel.
#include <algorithm>

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {
void CudaKernels::attention(const Tensor& out, const Tensor& lse, const HeadColumns& q, const HeadColumns& k,
                            const HeadColumns& v, const Segments& queries, const Segments& keys,
                            const AttentionShape& shape, const AttentionRotation& rotation,
                            const AttentionPositionTerms& terms) {
  const int64_t width = out.cols() / shape.heads;
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  dispatch_data_type(out, [&](auto type) {
    using D = decltype(type);
    using T = Compute<D>;
    const AttentionForward<D> a{rows_of<D>({out}),
                                data_or_null<T>(lse),
                                out.rows(),
                                rows_of<D>(q),
                                rows_of<D>(k),
                                rows_of<D>(v),
                                make_row_rotation<T>(context_, rotation, rotation.query_positions),
                                make_row_rotation<T>(context_, rotation, rotation.key_positions),
                                Scoring<T>(shape, width, k.rows.rows(), queries.longest())};
    const DevicePositionTerms<T> device_terms(terms, shape, width, std::max(queries.longest(), keys.longest()));
    run_attention(context_, a, device_terms, queries, keys);
  });
}

}  // namespace gyre::cuda
