// Arguments of the optimizer kernels.
#pragma once

#include <cstdint>

#include "gyre/core/tensor.h"

namespace gyre {

constexpr int64_t kSquaresBlock = 4096;  // elements per sum of Kernels::block_square_sums
// The number of sums that Kernels::block_square_sums writes for n elements.
constexpr int64_t squares_blocks(int64_t n) { return (n + kSquaresBlock - 1) / kSquaresBlock; }

// Limits for the norm of a gradient. The gradient is divided by `normalizer` first.
struct GradientLimits {
  double normalizer = 1;
  double clip_norm = 0;  // larger gradients are scaled down to this norm; 0: no clipping
  double largest = 0;    // the update is rejected if the norm after clipping is larger
};
// The elements of the result of Kernels::judge_gradient, f64.
enum Verdict : uint8_t {
  kGradientNorm,    // norm of the gradient divided by the normalizer, before clipping
  kGradientFactor,  // factor of the gradient: the clipping factor divided by the normalizer
  kAccepted,        // 1, or 0 if the norm is not finite or too large: the update must be skipped
  kVerdictSize,
};

// The ranges of the parameter arenas that one pass of the optimizer updates. Positions are counted in units of
// kUpdateUnit elements. The last unit of a range may extend into a gap between parameters, which is zero in all arenas
// and stays zero.
constexpr int64_t kUpdateUnit = 16;
struct UpdateRanges {
  enum Column : uint8_t {
    kFirst,     // number of units in the ranges before this one
    kBegin,     // first unit in the arena of values
    kGradient,  // first unit in the buffer of gradients
    kState,     // first unit in the arenas of the rule's state
    kGroup,     // row of `groups`
    kColumns,
  };
  enum GroupColumn : uint8_t {
    kRateFactor,   // factor of the learning rate
    kWeightDecay,  // decoupled (AdamW): value -= learning_rate * factor * weight_decay * value
    kGroupColumns,
  };
  Tensor table;   // (ranges, kColumns), i32, on the CPU
  Tensor groups;  // (groups, kGroupColumns), f64, on the device of the kernels
  int64_t units = 0;
};

// Hyperparameters of one Adam step.
struct AdamStep {
  double learning_rate, beta1, beta2, epsilon;
  double bias1, bias2;  // bias corrections: 1 - beta1^t, 1 - beta2^t
};

// Hyperparameters of one Lion step.
struct LionStep {
  double learning_rate, beta1, beta2;
};

// The coefficients of an iteration of Newton and Schulz: X is replaced by (a + b X X^T + c (X X^T)^2) X.
struct NewtonSchulzCoefficients {
  double a, b, c;
};

}  // namespace gyre
