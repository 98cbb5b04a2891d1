// Attention backward: prepares the arguments, selects the kernels, and computes the gradient of the rotary frequencies.
#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/rope_frequencies.h"
#include "gyre/core/cuda/runtime/launch.h"

namespace gyre::cuda {
namespace {

// The contribution of a row and a head to the gradient of a frequency, from dy and y, the rotated x. Each `group` of
// heads shares one head of x. `rounded`: rounds y as the tensor-core kernels do. The sums of queries and of keys
// largely cancel, and they cancel best if y has the same rounding as in the products that dy was computed from.
template <class D>
struct FrequencyTerm {
  using T = Compute<D>;
  Rows<T> dy;
  Rows<D> x;
  RopeRows<T> rotation;
  bool rounded;
  int group, width;

  __device__ double operator()(int64_t row, int64_t head, int a, int b) const {
    const auto y = [&](int f) {
      const T rotated = rotation.rotated(x.data + row * x.stride + head / group * width, row, f);
      return double(rounded ? T(D(rotated)) : rotated);
    };
    const T* g = dy.data + row * dy.stride + head * width;
    return angle_gradient(g[a], g[b], y(a), y(b));
  }
};

}  // namespace

void CudaKernels::attention_backward(const AttentionGradients& gradients, const Tensor& dout, const Tensor& out,
                                     const Tensor& lse, const AttentionCall& call) {
  const AttentionShape& shape = call.shape;
  const HeadColumns &dk = gradients.k, &dv = gradients.v;
  const Tensor& dfrequencies = gradients.frequencies;
  const int64_t width = dout.cols() / shape.heads;
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  const DType exact = statistics_dtype(dout.dtype());
  const Tensor sums = context_.empty({shape.heads, dout.rows()}, exact);
  dispatch_data_type(dout, [&](auto type) {
    using D = decltype(type);
    using T = Compute<D>;
    const PositionTableRows<T> tables(call.terms, shape, width, call.longest());
    using enum AttentionKernels;
    const AttentionKernels kernels =
        !tensor_backward_fits(width, call)
            ? plain
            : attention_kernels<D>(width, tables, call,
                                   {rows_of<D>(gradients.q), rows_of<D>(dk), rows_of<D>(dv), rows_of<D>({dout}),
                                    rows_of<D>({out}), rows_of<D>(call.q), rows_of<D>(call.k), rows_of<D>(call.v)},
                                   shape.group() > 1);
    // Unrounded gradients: for those of the frequencies, and of each head for the sums over groups.
    const bool grouped = shape.group() > 1 && kernels != hopper_alone;
    const int group = grouped ? shape.group() : 1;  // heads of these gradients that share keys
    const auto exact_rows = [&](const HeadColumns& x, int heads, bool needed) {
      return HeadColumns{needed ? context_.empty({x.rows.rows(), heads * width}, exact) : Tensor()};
    };
    const int key_heads = shape.key_heads() * group;
    const HeadColumns exact_dq = exact_rows(call.q, shape.heads, dfrequencies.defined());
    const HeadColumns exact_dk = exact_rows(call.k, key_heads, dfrequencies || (grouped && dk.rows));
    const HeadColumns exact_dv = exact_rows(call.v, key_heads, grouped && dv.rows);
    const auto ungrouped = [&](const HeadColumns& x) { return grouped ? Rows<D>() : rows_of<D>(x); };
    const bool first = kernels != plain && rotates_first(call);
    const HeadColumns rotated_q = first ? rotated_queries(*this, call, width) : HeadColumns();
    const HeadColumns rotated_k = first ? rotated_keys(*this, call, width) : HeadColumns();
    const AttentionBackward<D> a{{rows_of<D>(gradients.q), rows_of<T>(exact_dq)},
                                 {ungrouped(dk), rows_of<T>(exact_dk)},
                                 {ungrouped(dv), rows_of<T>(exact_dv)},
                                 rows_of<D>({dout}),
                                 rows_of<D>({out}),
                                 rows_of<D>(call.q),
                                 rows_of<D>(call.k),
                                 rows_of<D>(call.v),
                                 rows_of<D>(rotated_q),
                                 rows_of<D>(rotated_k),
                                 lse.data<T>(),
                                 sums.data<T>(),
                                 dout.rows(),
                                 make_rope_rows<T>(context_, call, call.query_positions),
                                 make_rope_rows<T>(context_, call, call.key_positions),
                                 Scoring<T>(call, width)};
    run_attention(context_, kernels, a, tables, call);
    AttentionBackward<D> terms = a;
    if (first) {  // the terms must recompute the scores of the other kernels, from rounded rotated rows
      terms.q = a.rotated_q;
      terms.k = a.rotated_k;
      terms.query_rotation = terms.key_rotation = {};
    }
    add_term_gradients(context_, gradients.terms, terms, tables, call);
    if (grouped && dk.rows) add_groups<D>(context_, dk, exact_dk.rows, a.key_rotation, shape);
    if (grouped && dv.rows) add_groups<D>(context_, dv, exact_dv.rows, {}, shape);
    if (!dfrequencies) return;
    const auto add = [&](const Rows<T>& dy, const Rows<D>& x, const RopeRows<T>& rotation, int64_t rows, int heads,
                         int heads_of_x) {
      const FrequencyTerm<D> term{dy, x, rotation, kernels != plain, heads / heads_of_x, int(width)};
      add_frequency_gradients<T>(context_, dfrequencies, rotation.positions, rows, heads, call.rope, term);
    };
    add(a.dq.exact, a.q, a.query_rotation, call.queries.tokens(), shape.heads, shape.heads);
    add(a.dk.exact, a.k, a.key_rotation, call.keys.tokens(), key_heads, shape.key_heads());
  });
}

}  // namespace gyre::cuda
