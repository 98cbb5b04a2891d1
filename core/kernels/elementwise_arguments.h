// Arguments of the elementwise kernels: activations and dropout.
#pragma once

#include <cstdint>
#include <string_view>

namespace gyre {

// gelu is the exact form x * Phi(x), with erf; gelu_tanh is its approximation in GPT-2 (Hendrycks & Gimpel 2016, 2):
//   x / 2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
// silu: x / (1 + exp(-x)). The last three are positive feature maps of linear attention:
//   elu_plus_one: x + 1 for x > 0, else exp(x)    relu_plus: max(x, 0) + 0.001    bounded_exp: exp(min(x, 60))
enum class Activation : uint8_t { relu, gelu, tanh, silu, gelu_tanh, elu_plus_one, relu_plus, bounded_exp };
constexpr std::string_view to_string(Activation kind) {
  switch (kind) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::tanh:
      return "tanh";
    case Activation::silu:
      return "silu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::elu_plus_one:
      return "elu_plus_one";
    case Activation::relu_plus:
      return "relu_plus";
    case Activation::bounded_exp:
      return "bounded_exp";
  }
  return "";
}
constexpr double kGeluTanhCubic = 0.044715;
constexpr double kReluPlusOffset = 1e-3;  // the constant of performer-pytorch
constexpr double kMaxExponent = 60;       // keeps sums of exponentials finite in fp32
constexpr double kFavorEpsilon = 1e-4;    // added to the exponentials of FAVOR+

// Counter-based dropout mask: element i is kept if random_u32(seed, stream, i) >= rate * 2^32. Kept elements are
// divided by 1 - rate.
struct DropoutMask {
  double rate = 0;
  uint64_t seed = 0, stream = 0;
};

}  // namespace gyre
