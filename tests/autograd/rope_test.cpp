// Tests properties of rotary position embedding (Su et al. 2021), in addition to the rows of the op table.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"
#include "tests/autograd/op_run.h"

using namespace gyre;

namespace {

constexpr RotaryPairs kLayouts[] = {RotaryPairs::interleaved, RotaryPairs::half_split};

Tensor positions_of(const std::vector<int32_t>& p) { return Tensor::from<int32_t>({int64_t(p.size())}, p); }

Tensor rope_rows(int64_t n, int64_t d, uint64_t stream) { return normal_tensor({n, d}, DType::f64, 21, stream); }

// The usual frequencies, 10000^(-2i / dims).
Tensor geometric_frequencies(int dims) {
  std::vector<double> f;
  for (int i = 0; i < dims / 2; ++i) f.push_back(std::pow(10000.0, -2.0 * i / dims));
  return Tensor::from<double>({dims / 2}, f);
}

struct Turned {
  Tensor y, dx, dfrequencies;
};

// Runs forward, and backward from the cotangent (default: the output itself).
Turned rotate(const Tensor& x, const std::vector<int32_t>& positions, const RopeShape& rotary, Tensor cotangent = {}) {
  Tape tape(cpu_kernels(), {});
  const Var in = tape.leaf(x), frequencies = tape.leaf(geometric_frequencies(rotary.dims));
  const int32_t longest = *std::max_element(positions.begin(), positions.end()) + 1;
  const Var y = rope(in, make_rotation(frequencies, longest, rotary), positions_of(positions));
  const Tensor value = y.value();
  tape.backward(y, cotangent ? cotangent : value.clone());
  return {value, tape.gradient(in), tape.gradient(frequencies)};
}

double dot(const double* a, const double* b, int64_t n) { return std::inner_product(a, a + n, b, 0.0); }

}  // namespace

TEST_CASE("rope: with magnitude 1, backward inverts forward, and norms are preserved") {
  const Tensor x = rope_rows(5, 16, 0);
  for (RotaryPairs pairs : kLayouts) {
    const Turned r = rotate(x, {0, 1, 7, 1000, 3}, {.heads = 2, .dims = 8, .pairs = pairs});
    CHECK_LE(relative_error(r.dx, x), 1e-14);
    for (int64_t i = 0; i < 5; ++i) {
      const double *from = x.data<double>() + i * 16, *to = r.y.data<double>() + i * 16;
      CHECK_EQ(dot(to, to, 16), doctest::Approx(dot(from, from, 16)).epsilon(1e-12));
    }
  }
}

TEST_CASE("rope: with magnitude m, backward is the transpose, not the inverse: it gives m^2 x") {
  const Tensor x = rope_rows(3, 8, 1);
  const Turned r = rotate(x, {0, 4, 9}, {.heads = 1, .dims = 8, .magnitude = 1.5});
  Tensor expected = x.clone();
  for (double& v : expected.span<double>()) v *= 2.25;
  CHECK_LE(relative_error(r.dx, expected), 1e-14);
}

TEST_CASE("rope: position 0 is the identity, bit for bit") {
  const Tensor x = rope_rows(3, 12, 2);
  for (RotaryPairs pairs : kLayouts) {
    CHECK(same_bits(rotate(x, {0, 0, 0}, {.heads = 2, .dims = 6, .pairs = pairs}).y, x));
  }
}

TEST_CASE("rope: the product of a query and a key depends only on their distance") {
  const Tensor q = rope_rows(1, 32, 3), k = rope_rows(1, 32, 4);
  for (RotaryPairs pairs : kLayouts) {
    const RopeShape rotary{.heads = 1, .dims = 32, .pairs = pairs};
    const auto product = [&](int32_t i, int32_t j) {
      return dot(rotate(q, {i}, rotary).y.data<double>(), rotate(k, {j}, rotary).y.data<double>(), 32);
    };
    CHECK_EQ(product(9, 4), doctest::Approx(product(5, 0)).epsilon(1e-12));
    CHECK_EQ(product(1009, 1004), doctest::Approx(product(5, 0)).epsilon(1e-10));
    CHECK_NE(product(4, 9), doctest::Approx(product(9, 4)).epsilon(1e-3));
  }
}

TEST_CASE("rope: the two layouts agree under the permutation of features") {
  constexpr int64_t kRows = 4, kHeads = 2, kWidth = 10, kDims = 8;
  const auto permuted = [](const Tensor& t) {  // interleaved to half-split
    Tensor to = t.clone();
    for (int64_t block = 0; block < kRows * kHeads; ++block) {
      for (int64_t i = 0; i < kDims; ++i) {
        to.data<double>()[block * kWidth + i % 2 * (kDims / 2) + i / 2] = t.data<double>()[block * kWidth + i];
      }
    }
    return to;
  };
  const Tensor x = rope_rows(kRows, kHeads * kWidth, 5), dy = rope_rows(kRows, kHeads * kWidth, 6);
  const std::vector<int32_t> positions{2, 0, 11, 5};
  const RopeShape interleaved{.heads = kHeads, .dims = kDims, .pairs = RotaryPairs::interleaved};
  const RopeShape half_split{.heads = kHeads, .dims = kDims, .pairs = RotaryPairs::half_split};
  const Turned a = rotate(x, positions, interleaved, dy);
  const Turned b = rotate(permuted(x), positions, half_split, permuted(dy));
  CHECK_LE(relative_error(b.y, permuted(a.y)), 1e-15);
  CHECK_LE(relative_error(b.dx, permuted(a.dx)), 1e-15);
  CHECK_LE(relative_error(b.dfrequencies, a.dfrequencies), 1e-14);
}

TEST_CASE("rope: forward and backward pass features beyond the rotary dims through") {
  constexpr int64_t kWidth = 7, kDims = 4;
  const Tensor x = rope_rows(3, 2 * kWidth, 7), dy = rope_rows(3, 2 * kWidth, 8);
  for (RotaryPairs pairs : kLayouts) {
    const Turned r = rotate(x, {1, 2, 3}, {.heads = 2, .dims = kDims, .pairs = pairs, .magnitude = 2}, dy);
    for (int64_t i = 0; i < x.size(); ++i) {
      if (i % kWidth < kDims) continue;
      CHECK_EQ(r.y.data<double>()[i], x.data<double>()[i]);
      CHECK_EQ(r.dx.data<double>()[i], dy.data<double>()[i]);
    }
  }
}

TEST_CASE("rope: the result of a row depends only on its position, not on its place in the batch") {
  const Tensor x = rope_rows(6, 8, 9);
  const RopeShape rotary{.heads = 1, .dims = 8};
  const Tensor whole = rotate(x, {0, 1, 2, 40, 41, 0}, rotary).y;
  CHECK(same_bits(whole.slice(3, 5), rotate(x.slice(3, 5), {40, 41}, rotary).y));
  CHECK(same_bits(whole.slice(5, 6), x.slice(5, 6)));
}

TEST_CASE("rope: in place equals out of place") {
  const Tensor x = rope_rows(5, 14, 10), positions = positions_of({0, 3, 1, 9, 2});
  const Tensor angles = Tensor::empty({10, 8}, DType::f64);
  for (RotaryPairs pairs : kLayouts) {
    const RopeShape rotary{.heads = 2, .dims = 4, .pairs = pairs};
    for (bool inverse : {false, true}) {
      const Tensor out = x.like(), in_place = x.clone();
      cpu_kernels().rotary_angles(angles, geometric_frequencies(4), rotary);
      cpu_kernels().rope({out}, {x}, positions, angles, rotary, 7, inverse);
      cpu_kernels().rope({in_place}, {in_place}, positions, angles, rotary, 7, inverse);
      CHECK(same_bits(out, in_place));
    }
  }
}

TEST_CASE("rope: gradient of the angle, computed by hand for one pair") {
  // dfrequency = position * (dy2 y1 - dy1 y2)
  const Tensor x = Tensor::from<double>({1, 2}, std::vector<double>{0.3, -1.2});
  const Tensor dy = Tensor::from<double>({1, 2}, std::vector<double>{0.7, 0.4});
  const Turned r = rotate(x, {5}, {.heads = 1, .dims = 2}, dy);
  const double y1 = 0.3 * std::cos(5.0) + 1.2 * std::sin(5.0), y2 = 0.3 * std::sin(5.0) - 1.2 * std::cos(5.0);
  CHECK_EQ(r.dfrequencies.data<double>()[0], doctest::Approx(5 * (0.4 * y1 - 0.7 * y2)).epsilon(1e-12));
}
