// Attention backward: which kernels, and what they get; the gradient of a rotation's frequencies.
#include "core/cuda/attention_call.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/launch.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 256;

// dfrequencies[pair] += sum over rows and heads of position * (dx2 x1 - dx1 x2), a block for each pair. Here x is not
// turned and dx is turned back, by the transpose of what turns x: that leaves the sum as it is.
template <class D>
__global__ __launch_bounds__(kThreads) void add_frequency_gradients(Compute<D>* dfrequencies, Rows<Compute<D>> dx,
                                                                    Rows<D> x, RowTurn<Compute<D>> turn, int64_t rows,
                                                                    int heads, int width) {
  __shared__ double scratch[kWarp];
  const int pair = int(blockIdx.x), one = turn.interleaved ? 2 * pair : pair, other = turn.partner(one);
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows * heads; i += kThreads) {
    const int64_t row = i / heads, feature = i % heads * width;
    const Compute<D>* g = dx.data + row * dx.stride + feature;
    const D* y = x.data + row * x.stride + feature;
    sum += double(turn.positions[row]) *
           (double(g[other]) * double(load(y + one)) - double(g[one]) * double(load(y + other)));
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) dfrequencies[pair] += Compute<D>(sum);
}

void run(Context& context, const AttentionBackward<bfloat16>& a, const Segments& queries, const Segments& keys) {
  has_tensor_width(a.scoring.width) ? run_tensor(context, a, queries, keys) : run_plain(context, a, queries, keys);
}
template <class D>
void run(Context& context, const AttentionBackward<D>& a, const Segments& queries, const Segments& keys) {
  run_plain(context, a, queries, keys);
}

}  // namespace

void CudaKernels::attention_backward(const HeadColumns& dq, const HeadColumns& dk, const HeadColumns& dv,
                                     const Tensor& dfrequencies, const Tensor& dout, const HeadColumns& q,
                                     const HeadColumns& k, const HeadColumns& v, const Tensor& lse,
                                     const Segments& queries, const Segments& keys, const AttentionShape& shape,
                                     const AttentionRotation& rotation) {
  const int64_t width = dout.cols() / shape.heads;
  require(width <= kWidestHead, "[cuda attention] expected heads of at most ", kWidestHead, " features, got ", width);
  const DType exact = statistics_dtype(dout.dtype());
  const Tensor sums = context_.empty({shape.heads, dout.rows()}, exact);
  // The gradient of frequencies is a sum in which much cancels: of gradients that were not rounded.
  const auto unrounded = [&](const HeadColumns& x) {
    return HeadColumns{dfrequencies ? context_.empty({x.rows.rows(), dout.cols()}, exact) : Tensor()};
  };
  const HeadColumns exact_dq = unrounded(q), exact_dk = unrounded(k);
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
    run(context_, a, queries, keys);
    if (!dfrequencies) return;
    const auto add = [&](const Rows<T>& dx, const Rows<D>& x, const RowTurn<T>& turn, int64_t rows) {
      launch(add_frequency_gradients<D>, dim3(unsigned(dfrequencies.size())), dim3(kThreads), 0, context_.stream(),
             dfrequencies.data<T>(), dx, x, turn, rows, shape.heads, int(width));
    };
    add(a.dq.exact, a.q, a.turn_queries, queries.tokens());
    add(a.dk.exact, a.k, a.turn_keys, keys.tokens());
  });
}

}  // namespace gyre::cuda
