// Compares linear attention with its quadratic form and with PyTorch (golden/linear_attention.json, written by
// golden/make_linear_attention.py), and tests models that use it.
#include "gyre/models/modules/linear_attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/parameters.h"
#include "gyre/core/io/json.h"
#include "gyre/core/random.h"
#include "tests/autograd/op_run.h"
#include "tests/models/tiny_encoder.h"
#include "tests/source_dir.h"

namespace gyre {
namespace {

using nlohmann::json;
using test::ids_of;
using test::tiny_encoder;
using test::validation_error;

constexpr FeatureMap kMaps[] = {FeatureMap::elu, FeatureMap::relu, FeatureMap::softmax, FeatureMap::favor};

EncoderOnlyConfig linear_encoder(FeatureMap map, bool causal = false, const std::string& position = "rope",
                                 LinearRope rope = LinearRope::post_map) {
  EncoderOnlyConfig c = tiny_encoder(position, NormPlacement::pre);
  c.causal = causal;
  c.attention = {
      .kind = AttentionKind::linear, .linear_map = map, .linear_rope = rope, .favor_features = 10, .favor_redraw = 5};
  return c;
}

Tensor logits_of(const EncoderOnly& model, const std::vector<int32_t>& ids) {
  Tape tape(cpu_kernels(), {.record = false});
  return model.logits(model.encode(tape, ids_of(ids), Segments::from_lengths({int32_t(ids.size())}))).value();
}

std::vector<int32_t> random_text(int64_t n) {
  RandomStream random(7, uint64_t(n));
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(int32_t(random.below(11)));
  return ids;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(DType::f64), y = b.to(DType::f64);
  double largest = 0;
  for (int64_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(x.data<double>()[i] - y.data<double>()[i]));
  return largest;
}

Tensor read_tensor(const json& j, DType dtype) {
  return Tensor::from<double>(Shape(j["shape"].get<std::vector<int64_t>>()), j["data"].get<std::vector<double>>())
      .to(dtype);
}

// Runs linear attention on q, k and v, with the options of a case of the file.
Var run_case(const json& c, const Var& q, const Var& k, const Var& v) {
  Tape& tape = q.tape();
  const DType dtype = q.value().dtype();
  const Segments segments = Segments::from_lengths(c["lengths"].get<std::vector<int32_t>>());
  LinearAttentionOptions options{.heads = c["heads"],
                                 .causal = c["causal"],
                                 .map = parse_enum<FeatureMap>("map", c["map"].get<std::string>()),
                                 .rope = parse_enum<LinearRope>("rope", c["rope"].get<std::string>())};
  if (c.contains("frequencies")) {
    const Var frequencies = tape.constant(read_tensor(c["frequencies"], dtype));
    const RopeShape rotary{.heads = options.heads, .dims = int(2 * frequencies.value().size())};
    options.rotation = make_rope(frequencies, segments.longest(), rotary);
    options.rotation.frequencies = {};
    options.positions = segment_positions(segments);
  }
  const Var vectors = c.contains("vectors") ? tape.constant(read_tensor(c["vectors"], dtype)) : Var();
  return linear_attention(q, k, v, vectors, segments, options);
}

double relative(const Tensor& actual, const json& expected) {
  return relative_error(actual, read_tensor(expected, DType::f64), 1e-3);
}

void check_case(const json& c, DType dtype, double tolerance) {
  Tape tape(cpu_kernels(), {});
  std::vector<Var> in;
  for (const char* name : {"q", "k", "v"}) in.push_back(tape.leaf(read_tensor(c[name], dtype)));
  const Var out = run_case(c, in[0], in[1], in[2]);
  CHECK_LE(relative(out.value(), c["output"]), tolerance);
  tape.backward(out, read_tensor(c["cotangent"], dtype));
  for (size_t i = 0; i < in.size(); ++i) CHECK_LE(relative(tape.gradient(in[i]), c["gradients"][i]), tolerance);
}

}  // namespace

TEST_CASE("linear attention: values and gradients agree with PyTorch") {
  const json cases = json::parse(std::ifstream(source_dir() / "tests/models/golden/linear_attention.json"));
  for (const json& c : cases) {
    CAPTURE(c["name"].get<std::string>());
    check_case(c, DType::f64, 1e-9);
    check_case(c, DType::f32, 2e-5);
  }
}

TEST_CASE("linear attention: running sums equal the quadratic form to 1e-5 for a long text") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const auto out = [&](DType dtype, bool composed) {
      Tape tape(cpu_kernels(), {.record = false, .composed = composed});
      const auto random = [&](uint64_t stream) {
        return tape.constant(normal_tensor({700, 12}, DType::f32, 3, stream).to(dtype));
      };
      return linear_attention(random(0), random(1), random(2), {}, Segments::from_lengths({700}),
                              {.heads = 2, .causal = causal})
          .value();
    };
    CHECK(largest_difference(out(DType::f32, false), out(DType::f64, true)) < 1e-5);
  }
}

TEST_CASE("linear attention: rows of a causal model are bitwise independent of later tokens") {
  for (const FeatureMap map : kMaps) {
    for (const LinearRope rope : {LinearRope::post_map, LinearRope::pre_map}) {
      CAPTURE(enum_name(map));
      CAPTURE(enum_name(rope));
      EncoderOnlyConfig config = linear_encoder(map, true, "rope", rope);
      EncoderOnly model(config);
      test::allocate_nonzero(model.parameters(), 5);
      std::vector<int32_t> ids = random_text(140);
      const Tensor before = logits_of(model, ids);
      for (const size_t changed : {size_t(139), size_t(70), size_t(64), size_t(1)}) {
        std::vector<int32_t> other = ids;
        other[changed] = (other[changed] + 1) % 11;
        const Tensor after = logits_of(model, other);
        const auto first = [&](const Tensor& t) { return t.slice(0, int64_t(changed)).to_vector<float>(); };
        CHECK(first(before) == first(after));
        CHECK(largest_difference(before, after) > 0);
      }
    }
  }
}

TEST_CASE("linear attention: invalid combinations of options throw a one-line error") {
  EncoderOnlyConfig c = linear_encoder(FeatureMap::elu);
  CHECK(validation_error(c) == "no error");
  c.attention_dropout = 0.1;
  CHECK(validation_error(c) == "[attention_dropout] linear attention has no weights to drop: expected 0, got 0.1");
  c = linear_encoder(FeatureMap::favor);
  c.attention.favor_features = 7;
  CHECK(validation_error(c) == "[rope] rotary dims must be even, got 7");
  c.attention.linear_rope = LinearRope::pre_map;
  CHECK(validation_error(c) == "no error");
  c.attention.favor_redraw = -1;
  CHECK(validation_error(c) == "[favor_redraw] must be at least 0, got -1");
  c = linear_encoder(FeatureMap::elu, false, "alibi");
  CHECK(
      validation_error(c) ==
      "[attention] linear has no scores that alibi could add to: expected position none, sinusoidal, learned or rope");
  c.attention.kind = AttentionKind::window;
  c.attention.window = 0;
  CHECK(validation_error(c) == "[attention] window must be at least 1, got 0");
  EncoderDecoderConfig both = test::tiny_config();
  both.attention.kind = AttentionKind::linear;
  CHECK_THROWS_WITH_AS(
      both.validate(),
      "[attention] an encoder-decoder expects softmax, got linear: encoders and decoders have the other kinds", Error);
}

TEST_CASE("attention: JSON round trip, and defaults for a config without attention") {
  EncoderOnlyConfig c = linear_encoder(FeatureMap::favor, true, "rope", LinearRope::pre_map);
  Json json = c.to_json();
  CHECK(
      json["attention"].dump() ==
      R"({"kind":"linear","window":256,"linear_map":"favor+","linear_rope":"pre-map","favor_features":10,"favor_redraw":5})");
  CHECK(EncoderOnlyConfig::from_json(json).to_json() == json);
  json = tiny_encoder().to_json();
  Json old = json;
  old.erase("attention");
  CHECK(EncoderOnlyConfig::from_json(old).attention.kind == AttentionKind::softmax);
  CHECK(with_defaults(old) == json);
}

TEST_CASE("favor+: the number of features per head is d ln d, even, or as given; rotations have that width") {
  AttentionConfig c{.kind = AttentionKind::linear, .linear_map = FeatureMap::favor};
  CHECK(c.features(64) == 266);
  CHECK(c.features(128) == 620);
  CHECK(c.features(2) == 2);
  CHECK(c.rotated_width(64) == 266);
  c.linear_rope = LinearRope::pre_map;
  CHECK(c.rotated_width(64) == 64);
  c.linear_map = FeatureMap::elu;
  CHECK(c.features(64) == 64);
}

TEST_CASE("favor+: random vectors are orthogonal in blocks, have lengths of normal vectors, and depend on the seed") {
  constexpr int64_t count = 20, width = 8;
  const std::vector<double> rows = orthogonal_normal_rows(count, width, 1, 2);
  const auto dot = [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t f = 0; f < width; ++f) sum += rows[size_t(i * width + f)] * rows[size_t(j * width + f)];
    return sum;
  };
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    squares += dot(i, i);
    for (int64_t j = 0; j < i; ++j) {
      if (i / width == j / width) CHECK(std::abs(dot(i, j)) < 1e-12);
    }
  }
  CHECK(squares / double(count) == doctest::Approx(double(width)).epsilon(0.35));
  CHECK(orthogonal_normal_rows(count, width, 1, 2) == rows);
  CHECK(orthogonal_normal_rows(count, width, 2, 2) != rows);
}

TEST_CASE("favor+: many random features approximate softmax attention") {
  constexpr int64_t n = 12, width = 8, features = 65536;
  Tape tape(cpu_kernels(), {.record = false});
  const auto random = [&](uint64_t stream, double deviation) {
    return scale(tape.constant(normal_tensor({n, width}, DType::f64, 9, stream)), deviation);
  };
  const Var q = random(0, 0.4), k = random(1, 0.4), v = random(2, 1);
  const Var vectors =
      tape.constant(Tensor::from<double>({features, width}, orthogonal_normal_rows(features, width, 1, 2)));
  const Segments segments = Segments::from_lengths({int32_t(n)});
  const Tensor out = linear_attention(q, k, v, vectors, segments, {.map = FeatureMap::favor}).value();
  std::vector<double> rows;
  for (int64_t i = 0; i < n; ++i) {
    for (const Var& x : {q, k, v}) {
      const double* row = x.value().data<double>() + i * width;
      rows.insert(rows.end(), row, row + width);
    }
  }
  const Var qkv = tape.constant(Tensor::from<double>({n, 3 * width}, rows));
  CHECK(largest_difference(out, self_attention(qkv, segments, {}).value()) < 0.03);
}

TEST_CASE("favor+: random vectors are redrawn at the interval, as a function of the seed and the update") {
  EncoderOnly model(linear_encoder(FeatureMap::favor));
  Parameters& parameters = model.parameters();
  parameters.allocate(1);
  const Parameter& vectors = *parameters.find("encoder.layers.1.self_attn.random_vectors");
  CHECK_FALSE(vectors.trainable);
  CHECK(vectors.shape == Shape{10, 4});
  const auto bits = [&] { return vectors.value.to_vector<float>(); };
  const auto initial = bits(), table = parameters.find("embed_tokens.weight")->value.to_vector<float>();
  RandomVectorRedraw redraw(model.config().attention);
  for (uint64_t update = 0; update < 5; ++update) redraw.before_update(parameters, 1, update);
  CHECK(bits() == initial);
  redraw.before_update(parameters, 1, 5);
  const auto second = bits();
  CHECK(second != initial);
  for (uint64_t update = 6; update <= 10; ++update) redraw.before_update(parameters, 1, update);
  const auto third = bits();
  CHECK(third != second);
  RandomVectorRedraw resumed(model.config().attention);
  resumed.before_update(parameters, 1, 7);
  CHECK(bits() == second);
  resumed.before_update(parameters, 1, 12);
  CHECK(bits() == third);
  CHECK(parameters.find("embed_tokens.weight")->value.to_vector<float>() == table);
}

}  // namespace gyre
