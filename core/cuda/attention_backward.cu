// Attention backward: which kernels, and what they get; the gradient of a rotation's frequencies.
#include <algorithm>

#include "core/cuda/attention_call.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/launch.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 256;

// dfrequencies[pair] += sum over rows and heads of position * step * (dy2 y1 - dy1 y2), y the turned x; a block for
// each pair. `rounded`: y as the tensor cores had it. Much of the sum of queries cancels much of that of keys, the more
// so the better both agree with the products that dy was made of.
template <class D>
__global__ __launch_bounds__(kThreads) void add_frequency_gradients(Compute<D>* dfrequencies, Rows<Compute<D>> dy,
                                                                    Rows<D> x, RowTurn<Compute<D>> turn, double step,
                                                                    bool rounded, int64_t rows, int heads, int width) {
  __shared__ double scratch[kWarp];
  const int pair = int(blockIdx.x), one = turn.interleaved ? 2 * pair : pair, other = turn.partner(one);
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows * heads; i += kThreads) {
    const int64_t row = i / heads, feature = i % heads * width;
    const auto y = [&](int f) {
      const Compute<D> turned = turn.turned(x.data + row * x.stride + feature, row, f);
      return double(rounded ? Compute<D>(D(turned)) : turned);
    };
    const Compute<D>* g = dy.data + row * dy.stride + feature;
    sum += double(turn.positions[row]) * (double(g[other]) * y(one) - double(g[one]) * y(other));
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) dfrequencies[pair] += Compute<D>(step * sum);
}

}  // namespace

void CudaKernels::attention_backward(const HeadColumns& dq, const HeadColumns& dk, const HeadColumns& dv,
                                     const Tensor& dfrequencies, const AttentionTerms& dterms, const Tensor& dout,
                                     const HeadColumns& q, const HeadColumns& k, const HeadColumns& v,
                                     const Tensor& lse, const Segments& queries, const Segments& keys,
                                     const AttentionShape& shape, const AttentionRotation& rotation,
                                     const AttentionTerms& terms) {
  const int64_t width = dout.cols() / shape.heads;
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  const DType exact = statistics_dtype(dout.dtype());
  const Tensor sums = context_.empty({shape.heads, dout.rows()}, exact);
  // For the gradient of frequencies.
  const auto exact_rows = [&](const HeadColumns& x) {
    return HeadColumns{dfrequencies ? context_.empty({x.rows.rows(), dout.cols()}, exact) : Tensor()};
  };
  const HeadColumns exact_dq = exact_rows(q), exact_dk = exact_rows(k);
  with_data_type(dout, [&](auto type) {
    using D = decltype(type);
    using T = Compute<D>;
    const AttentionBackward<D> a{{rows_of<D>(dq), rows_of<T>(exact_dq)},
                                 {rows_of<D>(dk), rows_of<T>(exact_dk)},
                                 {rows_of<D>(dv), {}},
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
    const OrderTerms<T> order(terms, shape, width, std::max(queries.longest(), keys.longest()));
    run_attention(context_, a, order, queries, keys);
    add_term_gradients(context_, dterms, a, order, queries, keys);
    if (!dfrequencies) return;
    const bool rounded = runs_on_tensor_cores<D>(width, order);
    const auto add = [&](const Rows<T>& dy, const Rows<D>& x, const RowTurn<T>& turn, int64_t rows) {
      launch(add_frequency_gradients<D>, dim3(unsigned(dfrequencies.size())), dim3(kThreads), 0, context_.stream(),
             dfrequencies.data<T>(), dy, x, turn, rotation.rotary.step, rounded, rows, shape.heads, int(width));
    };
    add(a.dq.exact, a.q, a.turn_queries, queries.tokens());
    add(a.dk.exact, a.k, a.turn_keys, keys.tokens());
  });
}

}  // namespace gyre::cuda
