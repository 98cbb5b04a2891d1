// Helpers of the composed definitions of the fused ops. Each definition stands in the file of its op, above the fused
// forward and backward, and says what the op computes, in the ops of autograd/elementary.h. It runs where the backend
// lacks the op's kernels, and in tests as the oracle of the fused op (Tape::fused).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "gyre/autograd/elementary.h"
#include "gyre/core/error.h"
#include "gyre/core/kernels/arguments.h"
#include "gyre/core/random.h"

namespace gyre {

struct Rope;

// Numbers as a constant for arithmetic with x: on its device, in the dtype of its statistics.
Var constant_beside(const Var& x, const Shape& shape, const std::vector<double>& numbers);
// One number, which is broadcast. A kernel writes it, because a copy from the CPU would make the step wait for a GPU.
Var number_beside(const Var& x, double number);

// x in the dtype of its statistics. bf16 is a storage type: definitions compute in fp32.
Var widened(const Var& x);
// The result of a definition as the op stores it, in this dtype.
Var stored(const Var& y, DType dtype);

// x w^T + bias, in the dtype of w; the bias may be an empty Var. Products of bf16 data round w and their gradient.
Var composed_linear(const Var& x, const Var& w, const Var& bias);

// The element (i, j) of the result (rows, columns) is element index(i, j) of x in row-major order, or 0 if the index is
// negative.
template <class Index>
Var pick(const Var& x, int64_t rows, int64_t columns, const Index& index) {
  require(x.value().size() <= std::numeric_limits<int32_t>::max(),
          "[pick] a composed definition picks from at most 2^31 - 1 elements, got ", x.shape());
  std::vector<int32_t> elements;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) elements.push_back(int32_t(index(i, j)));
  const Var all = reshape(x, {x.value().size(), 1});
  return reshape(gather_rows(all, Tensor::from({rows * columns}, elements)), {rows, columns});
}

// The factor of an element of a mask: 0 if it is dropped.
inline double dropout_factor(const DropoutMask& mask, int64_t element) {
  const bool kept = random_u32(mask.seed, mask.stream, uint64_t(element)) >= dropout_threshold(mask.rate);
  return kept ? 1 / (1 - mask.rate) : 0;
}

Var composed_activation(const Var& x, Activation kind);
// x with some elements set to zero, and the others divided by 1 - rate.
Var composed_dropout(const Var& x, const DropoutMask& mask);
Var composed_rope(const Var& x, const Rope& rotation, const Tensor& positions);

}  // namespace gyre
