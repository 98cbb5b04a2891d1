// bf16 products with AMX, against sums in the order of TDPBF16PS. Emulated on CPUs without AMX.
#ifdef __x86_64__
#include "gyre/core/kernels/amx.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/random.h"
#include "tests/amx_in_scope.h"
#include "tests/emulated_bf16.h"
#include "tests/report.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

// The kernels for AVX-512, which can use AMX; null if the CPU lacks it.
Kernels* kernels_with_tiles() {
  Kernels& best = cpu_kernels();
  if (best.name() == "cpu_v4") return &best;
  report_skipped("AMX: the CPU lacks AVX-512");
  return nullptr;
}

Tensor normal_numbers(const Shape& shape, DType dtype, uint64_t stream) {
  const Tensor t = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = float(random_normal(1, stream, uint64_t(i)));
  return t.to(dtype);
}

float as_float(const Tensor& t, int64_t row, int64_t column) {
  const int64_t at = row * t.cols() + column;
  return t.dtype() == DType::bf16 ? float(t.data<bfloat16>()[at]) : float(bfloat16(t.data<float>()[at]));
}

// A matrix, or its transpose.
struct View {
  const Tensor& t;
  bool transposed = false;
  float at(int64_t i, int64_t p) const { return transposed ? as_float(t, p, i) : as_float(t, i, p); }
  int64_t summed() const { return transposed ? t.rows() : t.cols(); }
};

// c + row i of a times row j of b, in the order of the instruction: chunks of 32 summed indices, whose even and odd
// ones have separate sums.
float expected_sum(float c, const View& a, int64_t i, const View& b, int64_t j) {
  for (int64_t first = 0; first < a.summed(); first += 32) {
    float sums[2] = {};
    for (int64_t p = first; p < std::min(a.summed(), first + 32); ++p) {
      sums[p % 2] = std::fma(a.at(i, p), b.at(j, p), sums[p % 2]);
    }
    c += sums[0] + sums[1];
  }
  return c;
}

void check_product(const Tensor& c, float before, const View& a, const View& b) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < c.rows(); ++i) {
    for (int64_t j = 0; j < c.cols(); ++j)
      wrong += c.data<float>()[i * c.cols() + j] != expected_sum(before, a, i, b, j);
  }
  CHECK(wrong == 0);
}

// `other`: the type of the weights and of dy.
void check_linear_layer(Kernels& kernels, int64_t n, int64_t d, int64_t o, DType other) {
  CAPTURE(n);
  CAPTURE(d);
  CAPTURE(o);
  CAPTURE(to_string(other));
  const Tensor x = normal_numbers({n, d}, DType::bf16, 0);
  const Tensor dy = normal_numbers({n, o}, other, 1);
  const Tensor w = normal_numbers({o, d}, other, 2);
  const Tensor y = Tensor::empty({n, o}, DType::f32), dx = Tensor::empty({n, d}, DType::f32);
  const Tensor dw = Tensor::from<float>({o, d}, std::vector<float>(size_t(o * d), 0.5f));
  kernels.linear(y, x, w, {});
  kernels.linear_backward(dx, dw, {}, dy, x, w, {});
  check_product(y, 0, {x}, {w});
  check_product(dx, 0, {dy}, {w, true});
  check_product(dw, 0.5f, {dy, true}, {x, true});
}

}  // namespace

TEST_CASE("bf16 products with AMX have the sums of TDPBF16PS") {
  Kernels* const kernels = kernels_with_tiles();
  if (kernels == nullptr) return;
  const EmulatedBf16 accepted = bf16_on_any_cpu();
  const AmxInScope amx;
  REQUIRE(uses_amx());
  for (const auto& [n, d, o] : {std::array<int64_t, 3>{32, 32, 32},
                                {64, 64, 96},
                                {5, 1, 1},
                                {17, 31, 33},
                                {33, 65, 16},
                                {70, 1, 40},
                                {9, 1100, 34},
                                {1057, 40, 7}}) {
    for (const DType other : {DType::f32, DType::bf16}) check_linear_layer(*kernels, n, d, o, other);
  }
  report_covered(has_amx() ? "AMX" : "AMX, emulated");
}

TEST_CASE("bf16 products with AMX do not depend on the number of threads") {
  Kernels* const kernels = kernels_with_tiles();
  if (kernels == nullptr) return;
  const EmulatedBf16 accepted = bf16_on_any_cpu();
  const AmxInScope amx;
  // The first product is split by rows, the second by columns.
  for (const auto& [n, o] : {std::pair<int64_t, int64_t>{130, 100}, {60, 300}}) {
    const Tensor x = normal_numbers({n, 70}, DType::bf16, 0);
    const Tensor w = normal_numbers({o, 70}, DType::f32, 1);
    const auto product = [&](int threads) {
      const ThreadsInScope scope(threads);
      const Tensor y = Tensor::empty({n, o}, DType::bf16);
      kernels->linear(y, x, w, {});
      return y;
    };
    const Tensor one = product(1);
    for (const int threads : {2, 5}) CHECK(std::memcmp(one.raw(), product(threads).raw(), one.bytes()) == 0);
  }
}

TEST_CASE("symmetric bf16 products with AMX are those of linear layers") {
  Kernels* const kernels = kernels_with_tiles();
  if (kernels == nullptr) return;
  const EmulatedBf16 accepted = bf16_on_any_cpu();
  const AmxInScope amx;
  const Tensor x = normal_numbers({200, 70}, DType::bf16, 0);
  const Tensor whole = Tensor::empty({200, 200}, DType::f32);
  kernels->linear(whole, x, x, {});
  for (const int threads : {1, 2, 5}) {
    const ThreadsInScope scope(threads);
    const Tensor symmetric = Tensor::empty({200, 200}, DType::f32);
    kernels->symmetric_product(symmetric, x, x);
    CHECK(std::memcmp(whole.raw(), symmetric.raw(), whole.bytes()) == 0);
  }
}
#endif
