// Muon and QK-clip on a GPU.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "gyre/train/optim/newton_schulz.h"
#include "gyre/train/optim/optimizer.h"
#include "tests/gpu.h"
#include "tests/models/tiny_encoder.h"
#include "tests/train/optim/clipped_heads.h"
#include "tests/train/optim/relative_difference.h"

namespace gyre::test {

TEST_CASE("orthogonalization on a GPU has about the result of f64, in every precision of the products") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  for (const Shape& shape : {Shape{24, 40}, Shape{40, 24}, Shape{17, 9}}) {
    CAPTURE(to_string(shape));
    std::vector<double> numbers(size_t(shape.elements()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(double(i * i) + 1);
    const Tensor x = Tensor::from(shape, numbers);
    const Tensor exact = orthogonalize(cpu_kernels(), x, Precision::fp32);
    for (const auto& [precision, tolerance] :
         {std::pair(Precision::fp32, 1e-4), std::pair(Precision::tf32, 0.02), std::pair(Precision::bf16, 0.06)}) {
      const Tensor y = orthogonalize(*gpu, x.to(DType::f32).to(gpu->device()), precision);
      CHECK(relative_difference(y, exact) < tolerance);
    }
  }
}

TEST_CASE("QK-clip scales the rows of heads on a GPU as on a CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  check_clipped_heads(*gpu, DType::f64, 1e-12);
  check_clipped_heads(*gpu, DType::f32, 1e-6);
}

TEST_CASE("updates with QK-clip are those of a CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  EncoderOnlyConfig config = tiny_encoder();
  config.dropout = 0;
  const auto trained = [&config](Kernels& kernels, double limit) {
    EncoderOnly model(config);
    model.parameters().allocate(3, DType::f32, kernels.device());
    OptimizerOptions options;
    options.kind = "muon";
    options.qk_clip = limit;
    options.schedule.warmup = 0;
    Optimizer optimizer(model.parameters(), kernels, options);
    for (int step = 0; step < 3; ++step) {
      Tape tape(kernels, {.record = true, .training = true});
      tape.backward(model.loss(tape, masked_batch({{3, 4, 5, 6, 7}, {8}, {9, 10, 3, 4}})).loss);
      optimizer.update(3);
    }
    return model.parameters().values().to_cpu().to_vector<float>();
  };
  const auto expected = trained(cpu_kernels(), 0.01), actual = trained(*gpu, 0.01), free = trained(*gpu, 0);
  CHECK(actual != free);
  for (size_t i = 0; i < expected.size(); ++i) REQUIRE(actual[i] == doctest::Approx(expected[i]).epsilon(1e-3));
}

}  // namespace gyre::test
