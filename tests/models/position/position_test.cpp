#include "gyre/models/position/position.h"

#include <doctest/doctest.h>

#include <algorithm>

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
    const int32_t longest = *std::max_element(positions.begin(), positions.end()) + 1;
    const Rope rotation = encoding->rotation(tape, DType::f64, longest);
    return rope(tape.constant(x), rotation, positions_of(positions)).value();
  }
  Tensor add(const Tensor& x, const std::vector<int32_t>& positions) {
    Tape tape(cpu_kernels(), {.record = false});
    return encoding->add_to_embeddings(tape.constant(x), positions_of(positions)).value();
  }
};

}  // namespace

TEST_CASE("positions count from zero in each segment") {
  const Segments segments = Segments::from_lengths({3, 0, 2});
  CHECK(segment_positions(segments).to_vector<int32_t>() == std::vector<int32_t>{0, 1, 2, 0, 1});
  CHECK(segment_positions(segments, 5).to_vector<int32_t>() == std::vector<int32_t>{5, 6, 7, 5, 6});
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

TEST_CASE("rope: learnable frequencies start at the fixed ones") {
  InitialEncoding fixed("rope"), learnable("rope", {{"rope_learnable", true}});
  const Tensor x = random_rows(3, 1);
  CHECK(fixed.rotate(x, {0, 4, 9}).to_vector<double>() == learnable.rotate(x, {0, 4, 9}).to_vector<double>());
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

}  // namespace gyre
