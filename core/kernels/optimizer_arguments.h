// Arguments of the optimizer kernels.
#pragma once

#include <cstdint>

namespace gyre {

constexpr int64_t kSquaresBlock = 4096;  // elements per sum of Kernels::block_square_sums
// The number of sums that Kernels::block_square_sums returns for n elements.
constexpr int64_t squares_blocks(int64_t n) { return (n + kSquaresBlock - 1) / kSquaresBlock; }

// Hyperparameters of one Adam step.
struct AdamStep {
  double learning_rate, beta1, beta2, epsilon;
  double weight_decay = 0;    // decoupled (AdamW): value -= learning_rate * weight_decay * value
  double bias1, bias2;        // bias corrections: 1 - beta1^t, 1 - beta2^t
  double gradient_scale = 1;  // factor of the gradient: 1 / token count, times the clipping factor
};

}  // namespace gyre
