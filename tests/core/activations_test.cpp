// NaN propagates through activations, forward and backward, so that it can be traced to its origin.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "tests/all_kernels.h"
#include "tests/emulated_bf16.h"

using namespace gyre;

namespace {

constexpr Activation kActivations[] = {Activation::relu,      Activation::gelu,       Activation::tanh,
                                       Activation::silu,      Activation::gelu_tanh,  Activation::elu_plus_one,
                                       Activation::relu_plus, Activation::bounded_exp};
constexpr DType kTypes[] = {DType::f32, DType::f64, DType::bf16};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> numbers(const Tensor& t) {
  const Tensor floats = t.to_cpu().to(DType::f32);
  return {floats.span<float>().begin(), floats.span<float>().end()};
}

// Calls f(kind, type, x) for each activation and type. x has 33 numbers, some of them NaN: whole vectors and a
// remainder.
template <class F>
void for_each_row(Kernels& kernels, F&& f) {
  for (const Activation kind : kActivations) {
    for (const DType type : kTypes) {
      CAPTURE(kernels.name());
      CAPTURE(to_string(kind));
      CAPTURE(to_string(type));
      std::vector<float> x(33);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % 5 == 2 ? kNan : float(i) / 4 - 4;
      f(kind, type, x);
    }
  }
}

}  // namespace

TEST_CASE("activations keep NaN, and their derivatives propagate it as in PyTorch") {
  const EmulatedBf16 everywhere;
  for (Kernels* kernels : all_kernels()) {
    for_each_row(*kernels, [&](Activation kind, DType type, const std::vector<float>& numbers_in) {
      const Tensor x = Tensor::from({1, 33}, numbers_in).to(type).to(kernels->device());
      const Tensor dy = Tensor::from({1, 33}, std::vector<float>(33, 0.5F)).to(type).to(kernels->device());
      const Tensor y = x.like(), dx = x.like();
      kernels->activation(y, x, kind);
      kernels->activation_backward(dx, dy, x, kind);
      const std::vector<float> values = numbers(y), slopes = numbers(dx);
      for (size_t i = 0; i < values.size(); ++i) {
        CAPTURE(i);
        const bool bad = std::isnan(numbers_in[i]), is_relu = kind == Activation::relu || kind == Activation::relu_plus;
        CHECK(std::isnan(values[i]) == bad);
        CHECK(std::isnan(slopes[i]) == (bad && !is_relu));
        // Like PyTorch's threshold_backward(grad, x, 0): the gradient is 0 only if x <= 0.
        if (is_relu) CHECK(slopes[i] == (numbers_in[i] <= 0 ? 0 : 0.5F));
      }
    });
  }
}

// CPU only: on a GPU, relu is part of the product of cublasLt, whose handling of NaN is not documented.
TEST_CASE("a linear layer with an activation propagates NaN of its bias") {
  const EmulatedBf16 everywhere;
  for (Kernels* kernels : available_cpu_kernels()) {
    for_each_row(*kernels, [&](Activation kind, DType type, const std::vector<float>& bias) {
      const DType parameters = type == DType::bf16 ? DType::f32 : type;
      const Tensor x = Tensor::zeros({2, 8}, type), w = Tensor::zeros({33, 8}, parameters);
      const Tensor y = Tensor::empty({2, 33}, type);
      const Tensor pre = kind == Activation::relu ? Tensor() : y.like();
      kernels->linear_activation(y, pre, x, w, Tensor::from({33}, bias).to(parameters), kind, {});
      const std::vector<float> values = numbers(y);
      for (size_t i = 0; i < values.size(); ++i) {
        CAPTURE(i);
        CHECK(std::isnan(values[i]) == std::isnan(bias[i % 33]));
      }
    });
  }
}
