// Every position encoding against its formula in PyTorch (golden/make_positions.py): one self-attention of two
// sentences, with the gradients of what it reads and of the encoding's parameters.
#include "tests/models/golden.h"

#include <doctest/doctest.h>

#include "gyre/core/io/json.h"
#include "gyre/models/position/position.h"
#include "tests/models/position_config.h"

namespace gyre {
namespace {

using test::check_close;

Tensor tensor_of(const Json& numbers, const Shape& shape, DType dtype) {
  return Tensor::from(shape, numbers.get<std::vector<double>>()).to(dtype);
}

void check_variant(const Json& golden, const Json& variant, DType dtype) {
  const Segments segments = Segments::from_lengths(golden["lengths"].get<std::vector<int32_t>>());
  const int heads = golden["heads"];
  const int64_t n = segments.tokens(), dim = int64_t(golden["x"].size()) / n;
  const PositionConfig config = test::position_config(variant["position"]["encoding"], variant["position"]);
  Parameters parameters;
  const auto encoding =
      make_position_encoding({.config = config, .dim = dim, .heads = heads, .parameters = parameters, .name = "p"});
  parameters.allocate(1, dtype);
  REQUIRE(parameters.count() == variant["parameters"].size());
  for (Parameter& p : parameters) p.value.copy_from(tensor_of(variant["parameters"].at(p.name), p.shape, dtype));

  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(tensor_of(golden["x"], {n, dim}, dtype)),
            b = tape.leaf(tensor_of(golden["b"], {3 * dim}, dtype));
  const Var w = tape.constant(tensor_of(golden["w"], {3 * dim, dim}, dtype));
  const Tensor positions = segment_positions(segments);
  const bool causal = variant["causal"];
  const AttentionOptions options{.heads = heads,
                                 .causal = causal,
                                 .rotation = encoding->rotation(tape, dtype, segments.longest()),
                                 .query_positions = positions,
                                 .terms = encoding->terms(tape, {0, segments.longest(), causal, dtype})};
  const Var out = self_attention(linear(encoding->add_to_embeddings(x, positions), w, b), segments, options);
  check_close(out.value(), variant["out"]);
  tape.backward(out, tensor_of(golden["dout"], {n, dim}, dtype));
  check_close(tape.gradient(x), variant["dx"]);
  check_close(tape.gradient(b), variant["db"]);
  for (const Parameter& p : parameters) {
    CAPTURE(p.name);
    check_close(p.gradient, variant["gradients"].at(p.name));
  }
}

}  // namespace

TEST_CASE("every position encoding against PyTorch") {
  for (const std::string& name : position_encoding_names()) {
    const Json golden = test::read_golden("positions/" + name + ".json");
    for (const Json& variant : golden["variants"]) {
      CAPTURE(variant["position"].dump());
      CAPTURE(variant["causal"].dump());
      for (DType dtype : {DType::f64, DType::f32}) check_variant(golden, variant, dtype);
    }
  }
}

TEST_CASE("rope for longer texts has the frequencies and the magnitude of transformers") {
  const Json all = test::read_golden("positions/rope.json");
  for (const Json& golden : all["longer"]) {
    CAPTURE(golden.dump());
    const int64_t width = golden["width"];
    const PositionConfig config = test::position_config("rope", {{"rope_scaling", golden["scaling"]},
                                                                 {"rope_scaling_factor", golden["factor"]},
                                                                 {"rope_original_length", golden["original_length"]}});
    Parameters parameters;
    const auto encoding =
        make_position_encoding({.config = config, .dim = width, .heads = 1, .parameters = parameters, .name = "p"});
    Tape tape(cpu_kernels(), {.record = false});
    const double* row = encoding->rotation(tape, DType::f64, 2).angles.data<double>() + 2 * width;  // row of position 1
    for (int64_t pair = 0; pair < width / 2; ++pair) {
      const double cosine = row[2 * pair], sine = row[width + 2 * pair + 1];
      CHECK(std::atan2(sine, cosine) ==
            doctest::Approx(golden["frequencies"][size_t(pair)].get<double>()).epsilon(1e-6));
      CHECK(std::hypot(sine, cosine) == doctest::Approx(golden["magnitude"].get<double>()).epsilon(1e-6));
    }
  }
}

}  // namespace gyre
