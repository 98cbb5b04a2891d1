// Gradients of the keys and values of grouped-query attention. The kernels of the backward compute them for each head
// of the queries, which shares its keys and values with the other heads of its group.
#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/runtime/launch.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 256;

// One thread per element of dx.
template <class D>
__global__ void add_groups_kernel(Rows<D> dx, const Compute<D>* exact, RopeRows<Compute<D>> row_rotation,
                                  int64_t elements, int columns, int group, int width) {
  const int64_t element = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= elements) return;
  const int64_t row = element / columns;
  const int column = int(element % columns), head = column / width, f = column % width;
  const Compute<D>* first = exact + row * columns * group + int64_t(head) * group * width;
  const auto sum = [&](int feature) {
    Compute<D> total = 0;
    for (int i = 0; i < group; ++i) total += first[i * width + feature];
    return total;
  };
  Compute<D> value = sum(f);
  if (row_rotation.positions && f < row_rotation.dims) {
    const Compute<D>* factors = row_rotation.factors(row);
    value = rotated_feature<true>(value, sum(row_rotation.partner(f)), factors[f], factors[row_rotation.dims + f]);
  }
  store(dx.data + row * dx.stride + column, value);
}

}  // namespace

template <class D>
void add_groups(Context& context, const HeadColumns& dx, const Tensor& exact, const RopeRows<Compute<D>>& rotation,
                const AttentionShape& shape) {
  const int width = int(exact.cols() / shape.heads), columns = shape.key_heads() * width;
  const int64_t elements = exact.rows() * columns;
  launch(add_groups_kernel<D>, dim3(unsigned(divide_up(elements, kThreads))), dim3(kThreads), 0, context.stream(),
         rows_of<D>(dx), exact.data<Compute<D>>(), rotation, elements, columns, shape.group(), width);
}

template void add_groups<float>(Context&, const HeadColumns&, const Tensor&, const RopeRows<float>&,
                                const AttentionShape&);
template void add_groups<double>(Context&, const HeadColumns&, const Tensor&, const RopeRows<double>&,
                                 const AttentionShape&);
template void add_groups<bfloat16>(Context&, const HeadColumns&, const Tensor&, const RopeRows<float>&,
                                   const AttentionShape&);

}  // namespace gyre::cuda
