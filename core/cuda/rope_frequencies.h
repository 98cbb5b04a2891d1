// The gradient of the rotary frequencies: for each pair of features, a sum over rows and heads. Blocks of rows are
// added first, and their sums in the order of the rows, so that the bits do not depend on the GPU.
#pragma once

#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/formulas.h"

namespace gyre::cuda {

constexpr int64_t kFrequencyRows = 64;  // rows of a block
constexpr int kFrequencyWarps = 8;

// partial(blocks, pairs) = the sums of each block. blockIdx.y selects a group of 32 pairs.
template <class Term>
__global__ void frequency_sums_kernel(double* partial, const int32_t* positions, int64_t rows, int64_t heads,
                                      RopeShape rope, Term term) {
  const int64_t pair = int64_t(blockIdx.y) * kWarp + threadIdx.x, first_row = blockIdx.x * kFrequencyRows;
  const int64_t end = first_row + kFrequencyRows < rows ? first_row + kFrequencyRows : rows, pairs = rope.dims / 2;
  double sum = 0;
  if (pair < pairs) {
    const int64_t a = rope.first_of_pair(pair), b = rope.partner(a);
    for (int64_t row = first_row + threadIdx.y; row < end; row += kFrequencyWarps) {
      double of_row = 0;
      for (int64_t head = 0; head < heads; ++head) of_row += term(row, head, int(a), int(b));
      sum += double(positions[row]) * of_row;
    }
  }
  __shared__ double sums[kFrequencyWarps][kWarp];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || pair >= pairs) return;
  for (int w = 1; w < kFrequencyWarps; ++w) sum += sums[w][threadIdx.x];
  partial[blockIdx.x * pairs + pair] = rope.position_scale * sum;
}

// dfrequencies[pair] += sum of position * position_scale * term(row, head, a, b) over the rows and heads, where a and b
// are the features of the pair. The term is angle_gradient() of the rotated features and their gradients.
template <class T, class Term>
void add_frequency_gradients(Context& context, const Tensor& dfrequencies, const int32_t* positions, int64_t rows,
                             int64_t heads, const RopeShape& rope, const Term& term) {
  if (rows == 0) return;
  const int64_t pairs = rope.dims / 2, blocks = divide_up(rows, kFrequencyRows);
  const Tensor partial = context.empty({blocks, pairs}, DType::f64);
  launch(frequency_sums_kernel<Term>, dim3(unsigned(blocks), unsigned(divide_up(pairs, kWarp))),
         dim3(kWarp, kFrequencyWarps), 0, context.stream(), partial.data<double>(), positions, rows, heads, rope, term);
  add_partials<double>(context, ColumnSums<T>{{dfrequencies.data<T>()}, pairs}, partial);
}

}  // namespace gyre::cuda
