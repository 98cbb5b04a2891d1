// out = the sum of the rows of `parts` in the order of a tree. The rows are visited like the values of a binary
// counter: two sums of equally many rows become one as soon as both are complete, and the rest is added from the right.
#include "gyre/core/cuda/map.h"
#include "gyre/core/cuda/runtime/add_parts.h"

namespace gyre::cuda {
namespace {

constexpr int kMostLevels = 24;  // levels for 2^23 rows

template <class Out, class Part>
__global__ void add_parts_kernel(Out* out, const Part* parts, int64_t rows, int64_t n) {
  const int64_t column = int64_t(blockIdx.x) * kMapThreads + threadIdx.x;
  if (column >= n) return;
  float sums[kMostLevels];
  int count = 0;
  for (int64_t row = 0; row < rows; ++row) {
    float sum = load(parts + row * n + column);
    for (int64_t rest = row; rest % 2 == 1; rest /= 2) sum = sums[--count] + sum;
    sums[count++] = sum;
  }
  float sum = sums[--count];
  while (count > 0) sum = sums[--count] + sum;
  store(out + column, sum);
}

}  // namespace

void add_parts(cudaStream_t stream, const Tensor& out, const Tensor& parts) {
  const int64_t n = out.size(), rows = parts.dim(0);
  require(rows > 0 && parts.size() == rows * n, "[cuda add_parts] expected rows of ", n, " elements, got ",
          parts.shape());
  const auto run = [&]<class Out, class Part>(Out* to, const Part* from) {
    launch(add_parts_kernel<Out, Part>, dim3(unsigned(divide_up(n, kMapThreads))), dim3(kMapThreads), 0, stream, to,
           from, rows, n);
  };
  const auto from_parts = [&]<class Part>(const Part* from) {
    if (out.dtype() == DType::bf16) return run(out.data<bfloat16>(), from);
    run(out.data<float>(), from);
  };
  if (parts.dtype() == DType::bf16) return from_parts(static_cast<const bfloat16*>(parts.data<bfloat16>()));
  from_parts(static_cast<const float*>(parts.data<float>()));
}

}  // namespace gyre::cuda
