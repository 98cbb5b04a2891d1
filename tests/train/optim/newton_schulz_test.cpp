#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "gyre/core/random.h"
#include "gyre/train/optim/update_rule.h"
#include "tests/emulated_bf16.h"
#include "tests/threads_in_scope.h"
#include "tests/train/optim/relative_difference.h"
#include "tests/train/optim/waves.h"

namespace gyre::test {
namespace {

// Sums of `rank` outer products of random vectors, whose sizes fall from 1 to 10^-(rank / 4).
Tensor matrix_of_rank(const Shape& shape, int64_t rank) {
  const Tensor x = Tensor::zeros(shape);
  for (int64_t k = 0; k < rank; ++k) {
    const double size = std::pow(10, -double(k) / 4);
    fill(x, [&](int64_t i) {
      const auto row = uint64_t(i / shape[1]), column = uint64_t(i % shape[1]);
      return at(x, i) + size * random_normal(1, uint64_t(k), row) * random_normal(2, uint64_t(k), column);
    });
  }
  return x;
}

}  // namespace

TEST_CASE("orthogonalize: singular vectors stay, singular values become about 1") {
  // A matrix of rank 2 with known singular vectors: u1 = (1, 0, 0), u2 = (0, .6, .8), v1 = (.6, .8), v2 = (.8, -.6).
  for (const bool tall : {true, false}) {
    const Tensor x = Tensor::empty(tall ? Shape{3, 2} : Shape{2, 3}, DType::f64);
    const double u[2][3] = {{1, 0, 0}, {0, 0.6, 0.8}}, v[2][2] = {{0.6, 0.8}, {0.8, -0.6}}, s[2] = {5, 2};
    const auto place = [&](int i, int j) { return tall ? i * 2 + j : j * 3 + i; };
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 2; ++j) x.data<double>()[place(i, j)] = s[0] * u[0][i] * v[0][j] + s[1] * u[1][i] * v[1][j];
    }
    const Tensor y = orthogonalize(cpu_kernels(), x, Precision::fp32);
    for (int k = 0; k < 2; ++k) {
      for (int other = 0; other < 2; ++other) {
        double product = 0;  // u_k^T Y v_other
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 2; ++j) product += u[k][i] * y.data<double>()[place(i, j)] * v[other][j];
        }
        if (k == other) {
          CHECK(product > 0.67);
          CHECK(product < 1.21);
        } else {
          CHECK(std::abs(product) < 1e-12);
        }
      }
    }
  }
  const Tensor none = Tensor::zeros({3, 5});
  for (const float zero : orthogonalize(cpu_kernels(), none, Precision::fp32).span<float>()) CHECK(zero == 0);
}

TEST_CASE("orthogonalize: low rank and small singular values have about the result of f64 in fp32") {
  for (const Shape& shape :
       {Shape{24, 40}, Shape{40, 24}, Shape{30, 40}, Shape{96, 300}, Shape{300, 96}, Shape{1, 7}, Shape{7, 1}}) {
    for (const int64_t rank : {1, 2, 24}) {
      CAPTURE(to_string(shape));
      CAPTURE(rank);
      const Tensor x = matrix_of_rank(shape, rank);
      const Tensor expected = orthogonalize(cpu_kernels(), x.to(DType::f64), Precision::fp32);
      CHECK(relative_difference(orthogonalize(cpu_kernels(), x, Precision::fp32), expected) < 2e-3);
    }
  }
}

TEST_CASE("orthogonalize: products in bf16 change the result by a few percent") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const Shape& shape : {Shape{24, 40}, Shape{40, 24}, Shape{16, 16}, Shape{17, 9}}) {
    CAPTURE(to_string(shape));
    const Tensor x = Tensor::empty(shape), exact = Tensor::empty(shape, DType::f64);
    for (const Tensor& t : {x, exact}) fill(t, [](int64_t i) { return std::sin(double(i) * double(i) + 1); });
    const Tensor expected = orthogonalize(cpu_kernels(), exact, Precision::bf16);  // f64 is not rounded
    const auto error = [&](Precision precision) {
      const Tensor y = orthogonalize(cpu_kernels(), x, precision);
      CHECK(y.dtype() == DType::f32);
      return relative_difference(y, expected);
    };
    CHECK(error(Precision::fp32) < 1e-4);
    CHECK(error(Precision::bf16) < 0.06);
    CHECK(error(Precision::bf16) > 1e-3);
  }
  const Tensor none = Tensor::zeros({3, 5});
  for (const float zero : orthogonalize(cpu_kernels(), none, Precision::bf16).span<float>()) CHECK(zero == 0);
}

TEST_CASE("orthogonalize: the result has the same bits for any number of threads") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const Shape& shape : {Shape{96, 130}, Shape{96, 200}, Shape{200, 96}}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      const Tensor x = Tensor::empty(shape);
      fill(x, [](int64_t i) { return std::sin(double(i) * double(i) + 1); });
      std::vector<std::vector<float>> results;
      for (const int n : {1, 3}) {
        const ThreadsInScope scope(n);
        results.push_back(orthogonalize(cpu_kernels(), x, precision).to_vector<float>());
      }
      CHECK(results[0] == results[1]);
    }
  }
}

TEST_CASE("the operations of orthogonalization are those of its products") {
  const auto flops = [](int64_t rows, int64_t columns, Precision precision, Device::Kind kind) {
    Parameters parameters;
    Parameter& p = parameters.add("w", {rows, columns}, Init::constant(0));
    p.matrix_rows = {rows};
    return orthogonalization_flops(p, precision, {kind, 0});
  };
  using enum Device::Kind;
  // 10 n^2 (2 m + n) on GPUs, and n^2 (4 m + 34 n) on the Gram matrix.
  for (const auto& [rows, columns] : {std::pair(10, 40), std::pair(40, 10)}) {
    CHECK(flops(rows, columns, Precision::bf16, cuda) == 10 * 100 * (80 + 10));
    CHECK(flops(rows, columns, Precision::fp32, cuda) == 100 * (160 + 340));
  }
  CHECK(flops(10, 12, Precision::fp32, cuda) == 10 * 100 * (24 + 10));
  // CPUs compute half of symmetric products, except the Gram matrix of columns.
  CHECK(flops(10, 40, Precision::bf16, cpu) == 5 * (4000 + 1000 + 8000));
  CHECK(flops(40, 10, Precision::bf16, cpu) == 5 * (8000 + 1000 + 8000));
  CHECK(flops(10, 40, Precision::fp32, cpu) == 4000 + 17 * 1000 + 8000);
  CHECK(flops(40, 10, Precision::fp32, cpu) == 8000 + 17 * 1000 + 8000);
}

}  // namespace gyre::test
