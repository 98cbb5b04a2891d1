#include "gyre/models/position/position.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gyre/core/io/json.h"
#include "gyre/core/random.h"
#include "tests/models/position_config.h"

namespace gyre {
namespace {

constexpr int64_t kRowDim = 8, kRowHeads = 2;

Tensor random_rows(int64_t n, uint64_t stream) {
  Tensor x = Tensor::empty({n, kRowDim}, DType::f64);
  for (int64_t i = 0; i < x.size(); ++i) x.data<double>()[i] = random_normal(3, stream, uint64_t(i));
  return x;
}

Tensor positions_of(const std::vector<int32_t>& p) { return Tensor::from({int64_t(p.size())}, p); }

struct InitialEncoding {
  Parameters parameters;
  std::unique_ptr<PositionEncoding> encoding;
  explicit InitialEncoding(const std::string& name, const Json& options = Json::object()) {
    const PositionConfig config = test::position_config(name, options);
    encoding = make_position_encoding({config, kRowDim, kRowHeads, parameters, "p"});
    parameters.allocate(1, DType::f64);
  }
  Tensor rotate(const Tensor& x, const std::vector<int32_t>& positions) {
    Tape tape(cpu_kernels(), {.record = false});
    return turn(tape, x, positions).value();
  }
  Var turn(Tape& tape, const Tensor& x, const std::vector<int32_t>& positions) const {
    const int32_t longest = *std::max_element(positions.begin(), positions.end()) + 1;
    const RopeAngles rotation = encoding->rotation(tape, DType::f64, longest);
    return rotation ? rope(tape.constant(x), rotation, positions_of(positions)) : tape.constant(x);
  }
  Tensor add(const Tensor& x, const std::vector<int32_t>& positions) {
    Tape tape(cpu_kernels(), {.record = false});
    return encoding->add_to_embeddings(tape.constant(x), positions_of(positions)).value();
  }
};

double head_product(const Tensor& q, const Tensor& k, int64_t head) {
  double sum = 0;
  for (int64_t j = 0; j < kRowDim / kRowHeads; ++j)
    sum += q.data<double>()[head * (kRowDim / kRowHeads) + j] * k.data<double>()[head * (kRowDim / kRowHeads) + j];
  return sum;
}

}  // namespace

TEST_CASE("positions count from zero in each segment") {
  const Segments segments = Segments::from_lengths({3, 0, 2});
  CHECK(segment_positions(segments).to_vector<int32_t>() == std::vector<int32_t>{0, 1, 2, 0, 1});
  CHECK(segment_positions(segments, 5).to_vector<int32_t>() == std::vector<int32_t>{5, 6, 7, 5, 6});
}

TEST_CASE("rope: products of queries and keys depend on the distance only") {
  for (const char* pairs : {"interleaved", "half-split"}) {
    InitialEncoding rope("rope", {{"rope_pairs", pairs}});
    const Tensor q = random_rows(1, 1), k = random_rows(1, 2);
    for (int64_t head = 0; head < kRowHeads; ++head) {
      const double near = head_product(rope.rotate(q, {5}), rope.rotate(k, {3}), head);
      const double far = head_product(rope.rotate(q, {105}), rope.rotate(k, {103}), head);
      const double other = head_product(rope.rotate(q, {6}), rope.rotate(k, {3}), head);
      CHECK(near == doctest::Approx(far).epsilon(1e-10));
      CHECK(std::abs(near - other) > 1e-3);
    }
  }
}

TEST_CASE("rope: the angles are position * base^(-2j/dims)") {
  InitialEncoding rope("rope", {{"rope_base", 100}});
  const Tensor x = random_rows(1, 1), y = rope.rotate(x, {3});
  const double theta[] = {3.0, 3.0 / 10};
  for (int64_t pair = 0; pair < kRowDim / 2; ++pair) {
    const double *a = x.data<double>() + 2 * pair, *b = y.data<double>() + 2 * pair;
    const double c = std::cos(theta[pair % 2]), s = std::sin(theta[pair % 2]);
    CHECK(b[0] == doctest::Approx(a[0] * c - a[1] * s));
    CHECK(b[1] == doctest::Approx(a[0] * s + a[1] * c));
  }
}

TEST_CASE("rope: partial rotation leaves the rest of each head; position 0 is the identity") {
  InitialEncoding rope("rope", {{"rotary_dims", 2}});
  const Tensor x = random_rows(2, 1), y = rope.rotate(x, {0, 7});
  for (int64_t j = 0; j < kRowDim; ++j) {
    CHECK(y.data<double>()[j] == x.data<double>()[j]);
    const bool same = y.data<double>()[kRowDim + j] == x.data<double>()[kRowDim + j];
    CHECK(same == (j % 4 >= 2));
  }
}

TEST_CASE("rope: the angles of fixed frequencies are computed once and grow with the sentences") {
  InitialEncoding rope("rope");
  Tape tape(cpu_kernels(), {});
  const Tensor first = rope.encoding->rotation(tape, DType::f32, 5).angles;
  CHECK(first.dim(0) >= 5);
  CHECK(rope.encoding->rotation(tape, DType::f32, first.dim(0)).angles.shares_storage(first));
  const Tensor longer = rope.encoding->rotation(tape, DType::f32, first.dim(0) + 1).angles;
  CHECK(longer.dim(0) > first.dim(0));
  CHECK(longer.slice(0, first.dim(0)).to_vector<float>() == first.to_vector<float>());
}

TEST_CASE("rope: learnable frequencies start at the fixed ones and have a gradient") {
  InitialEncoding fixed("rope"), learnable("rope", {{"rope_learnable", true}});
  const Tensor x = random_rows(3, 1);
  CHECK(fixed.rotate(x, {0, 4, 9}).to_vector<double>() == learnable.rotate(x, {0, 4, 9}).to_vector<double>());
  REQUIRE(learnable.parameters.count() == 1);
  Tape tape(cpu_kernels(), {});
  const Var y = learnable.turn(tape, x, {0, 4, 9});
  tape.backward(y, random_rows(3, 2));
  for (double g : learnable.parameters[0].gradient.to_vector<double>()) CHECK(std::abs(g) > 1e-6);
}

TEST_CASE("sinusoidal: both layouts") {
  InitialEncoding half("sinusoidal", {{"max_positions", 4}});
  InitialEncoding inter("sinusoidal", {{"max_positions", 4}, {"sinusoid_layout", "interleaved"}});
  const Tensor zero = Tensor::zeros({1, kRowDim}, DType::f64);
  const auto h = half.add(zero, {3}).to_vector<double>(), i = inter.add(zero, {3}).to_vector<double>();
  for (size_t j = 0; j < 4; ++j) {
    const double slow = 3 * std::pow(10000.0, -double(j) / 3), paper = 3 * std::pow(10000.0, -double(j) / 4);
    CHECK(h[j] == doctest::Approx(std::sin(slow)));
    CHECK(h[j + 4] == doctest::Approx(std::cos(slow)));
    CHECK(i[2 * j] == doctest::Approx(std::sin(paper)));
    CHECK(i[2 * j + 1] == doctest::Approx(std::cos(paper)));
  }
}

TEST_CASE("tables refuse positions beyond them") {
  const Tensor x = random_rows(2, 1);
  for (const char* name : {"sinusoidal", "learned"}) {
    InitialEncoding made(name, {{"max_positions", 4}});
    CHECK(made.encoding->longest() == 4);
    CHECK_NOTHROW(made.add(x, {0, 3}));
    CHECK_THROWS_WITH_AS(
        made.add(x, {0, 4}),
        (std::string("[") + name + "] expected at most max_positions = 4 tokens in a sentence, got 5").c_str(), Error);
  }
}

TEST_CASE("learned: adds the row of the position") {
  InitialEncoding learned("learned", {{"max_positions", 4}});
  const auto y = learned.add(Tensor::zeros({2, kRowDim}, DType::f64), {2, 0}).to_vector<double>();
  const auto table = learned.parameters[0].value.to_vector<double>();
  CHECK(std::vector(y.begin(), y.begin() + kRowDim) ==
        std::vector(table.begin() + 2 * kRowDim, table.begin() + 3 * kRowDim));
  CHECK(std::vector(y.begin() + kRowDim, y.end()) == std::vector(table.begin(), table.begin() + kRowDim));
}

TEST_CASE("none: changes nothing") {
  InitialEncoding none("none");
  const Tensor x = random_rows(2, 1);
  CHECK(none.add(x, {0, 9}).to_vector<double>() == x.to_vector<double>());
  CHECK(none.rotate(x, {0, 9}).to_vector<double>() == x.to_vector<double>());
}

}  // namespace gyre
