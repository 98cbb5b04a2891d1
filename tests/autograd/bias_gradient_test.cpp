// Tests bias gradients that the backward of the next op computes (Backward::dinput_with_bias).
#include <doctest/doctest.h>

#include "gyre/core/random.h"
#include "tests/autograd/op_run.h"
#include "tests/emulated_bf16.h"

using namespace gyre;

namespace {

Tensor random_tensor(const Shape& shape, uint64_t stream, double mean = 0) {
  RandomStream random(1, stream);
  std::vector<double> numbers(size_t(shape.elements()));
  for (double& x : numbers) x = mean + 0.5 * random.normal();
  return Tensor::from<double>(shape, numbers);
}

}  // namespace

TEST_CASE("layer norm on a CPU sums the gradient of a bias to the same bits as the linear layer") {
  const EmulatedBf16 emulated;
  constexpr int64_t kRows = 1100, kColumns = 321;
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      for (const double rate : {0.0, 0.1}) {
        CAPTURE(kernels->name());
        CAPTURE(dtype_name(dtype));
        CAPTURE(rate);
        const DType exact = statistics_dtype(dtype);
        const Tensor dy = random_tensor({kRows, kColumns}, 1).to(dtype), sum = random_tensor(dy.shape(), 2).to(dtype);
        const Tensor gamma = random_tensor({kColumns}, 3, 1).to(exact), mean = random_tensor({kRows}, 4).to(exact);
        const Tensor rstd = random_tensor({kRows}, 5, 2).to(exact), before = random_tensor({kColumns}, 6).to(exact);
        const Tensor dx = dy.like(), from_norm = before.clone(), from_linear = before.clone();
        kernels->residual_layer_norm_backward(dx, {}, {}, {}, from_norm, dy, sum, gamma, mean, rstd, {rate, 1, 2});
        kernels->linear_backward({}, {}, from_linear, dx, Tensor::zeros({kRows, 1}, dtype),
                                 Tensor::zeros({kColumns, 1}, exact), {});
        CHECK(same_bits(from_norm, from_linear));
        CHECK_FALSE(same_bits(from_norm, before));
      }
    }
  }
}
