// Products when the emulated cublasLt refuses an algorithm. Each test case has its own sizes, because chosen algorithms
// are kept. All numbers are small integers, so that results are exact in every type and order.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gyre/core/cuda/runtime/environment.h"
#include "gyre/core/hardware/cuda.h"
#include "tests/cuda_emulation/cublas_lt.h"
#include "tests/emulated_bf16.h"
#include "tests/report.h"

using cuda_emulation::product_library, cuda_emulation::ProductLibrary;
using namespace gyre;

namespace {

// Restores the settings of the library at the end of the scope.
struct LibraryInScope {
  ProductLibrary before = product_library();
  ~LibraryInScope() { product_library() = before; }
};

// Numbers from -2 to 2.
Tensor integers(const Shape& shape, DType dtype, int step) {
  std::vector<double> numbers(size_t(shape.elements()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = double(i * size_t(step) % 5) - 2;
  return Tensor::from<double>(shape, numbers).to(dtype);
}

struct Layer {
  Tensor x, w, bias;
  Layer(int64_t n, int64_t d, int64_t o, DType dtype)
      : x(integers({n, d}, dtype, 3)),
        w(integers({o, d}, statistics_dtype(dtype), 7)),
        bias(integers({o}, statistics_dtype(dtype), 1)) {}

  // x w^T + bias, with relu if wanted.
  std::vector<double> run(Kernels& kernels, bool relu) const {
    const auto here = [&](const Tensor& t) { return t.to(kernels.device()); };
    const Tensor y = Tensor::empty({x.rows(), w.rows()}, x.dtype(), kernels.device());
    if (relu) {
      kernels.linear_activation(y, {}, here(x), here(w), here(bias), Activation::relu, {});
    } else {
      kernels.linear(y, here(x), here(w), here(bias));
    }
    return y.to_cpu().to(DType::f64).to_vector<double>();
  }
};

// Runs a layer, and returns how often an algorithm was chosen.
int choices_for(int64_t n, int64_t d, int64_t o) {
  const int before = product_library().choices;
  const Layer layer(n, d, o, DType::f32);
  CHECK(layer.run(cuda_kernels(0), false) == layer.run(cpu_kernels(), false));
  return product_library().choices - before;
}

}  // namespace

TEST_CASE("without an epilogue in the library, bias and relu are added afterwards") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const LibraryInScope scope;
  product_library().has_epilogues = false;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const int64_t o : {56, 57}) {
      const Layer layer(19, 23, o, dtype);
      for (const bool relu : {false, true}) CHECK(layer.run(cuda_kernels(0), relu) == layer.run(cpu_kernels(), relu));
    }
  }
}

TEST_CASE("a layer without inputs gives its bias") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Layer layer(3, 0, 5, dtype);
    const std::vector<double> row = layer.bias.to(DType::f64).to_vector<double>();
    const std::vector<double> y = layer.run(cuda_kernels(0), false), positive = layer.run(cuda_kernels(0), true);
    for (size_t i = 0; i < y.size(); ++i) {
      CHECK(y[i] == row[i % 5]);
      CHECK(positive[i] == std::max(row[i % 5], 0.0));
    }
  }
}

TEST_CASE("one choice of an algorithm serves all numbers of rows that round to the same") {
  CHECK(choices_for(257, 9, 15) == 1);
  CHECK(choices_for(300, 9, 15) == 0);
  CHECK(choices_for(512, 9, 15) == 0);
  CHECK(choices_for(513, 9, 15) == 1);
  CHECK(choices_for(5, 9, 15) == 1);
  CHECK(choices_for(8, 9, 15) == 0);
  CHECK(choices_for(300, 9, 15) == 0);
}

TEST_CASE("an algorithm that does not fit the exact number of rows is chosen again, once") {
  const LibraryInScope scope;
  product_library().accepts_other_sizes = false;
  CHECK(choices_for(301, 9, 17) == 2);
  CHECK(choices_for(302, 9, 17) == 1);
  CHECK(choices_for(302, 9, 17) == 0);
}

TEST_CASE("the choice depends on the alignment of the bias") {
  Layer layer(21, 10, 12, DType::f32);
  const Tensor biases = integers({17}, DType::f32, 1).to(cuda_kernels(0).device());
  for (const int64_t first : {0, 4, 1, 2}) {
    layer.bias = biases.slice(first, first + 12);
    const std::vector<double> actual = layer.run(cuda_kernels(0), false);
    layer.bias = layer.bias.to_cpu();
    CHECK(actual == layer.run(cpu_kernels(), false));
  }
}

TEST_CASE("a product whose operand or result is longer than its memory is refused") {
  if (cuda::is_on("GYRE_CUDA_POOL", true)) return report_skipped("GYRE_CUDA_POOL is not 0");
  Kernels& gpu = cuda_kernels(0);
  const auto made = [&](int64_t rows) { return Tensor::zeros({rows, 8}, DType::f32, gpu.device()); };
  const auto longer = [](const Tensor& t) {
    return Tensor::view(t.raw(), {t.rows() + 1, t.cols()}, t.dtype(), t.owner(), t.device());
  };
  const Tensor w = made(8), six = made(6), y = made(6), five = made(5);
  CHECK_NOTHROW(gpu.linear(y, six, w, {}));
  CHECK_THROWS_AS(gpu.linear(y, longer(five), w, {}), Error);
  CHECK_THROWS_AS(gpu.linear(longer(five), six, w, {}), Error);
}
