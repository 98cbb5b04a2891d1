// Muon on a GPU.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "gyre/train/optim/update_rule.h"
#include "tests/gpu.h"
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

}  // namespace gyre::test
