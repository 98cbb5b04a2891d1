// Tests the encodings that add terms by distance to attention.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"
#include "gyre/models/position/distances.h"
#include "tests/errors.h"
#include "tests/models/golden.h"
#include "tests/models/position_config.h"
#include "tests/models/tiny_model.h"

namespace gyre {
namespace {

constexpr int64_t kDim = 16, kHeads = 2;

// An encoding of one layer with nonzero parameters.
struct NonzeroEncoding {
  Parameters parameters;
  std::unique_ptr<PositionEncoding> encoding;

  explicit NonzeroEncoding(const std::string& name, Json options = Json::object(), int64_t dim = kDim,
                           int64_t heads = kHeads) {
    options["deberta_clip"] = 3;
    options["max_positions"] = 40;
    const PositionConfig config = test::position_config(name, options);
    encoding =
        make_position_encoding({.config = config, .dim = dim, .heads = heads, .parameters = parameters, .name = "p"});
    test::allocate_nonzero(parameters, 4, DType::f64);
  }

  PositionTerms terms(Tape& tape, int64_t longest, bool causal) const {
    return encoding->terms(tape, {0, longest, causal, DType::f64});
  }
};

// Row of distance t.
std::vector<double> row_of(const PositionTerms& terms, const Var& table, int64_t t) {
  const int64_t row = terms.zero_offset + t;
  REQUIRE(row >= 0);
  REQUIRE(row < table.shape()[0]);
  return table.value().slice(row, row + 1).to_vector<double>();
}

// Rows of attention over one sentence in which each token sees at most two others, on both sides.
Tensor attend_nearby(const NonzeroEncoding& made, const Tensor& x) {
  const Segments segments = Segments::from_lengths({int32_t(x.dim(0))});
  const Tensor positions = segment_positions(segments);
  Tape tape(cpu_kernels(), {.record = false});
  const AttentionOptions options{.heads = kHeads,
                                 .window = 1,
                                 .rotation = made.encoding->rotation(tape, DType::f64, x.dim(0)),
                                 .query_positions = positions,
                                 .terms = made.terms(tape, x.dim(0), false)};
  const Var rows = made.encoding->add_to_embeddings(tape.constant(x.slice(0, x.dim(0))), positions);
  const Var w = tape.constant(normal_tensor({3 * kDim, kDim}, DType::f64, 5, 1));
  return self_attention(linear(rows, w), segments, options).value();
}

}  // namespace

TEST_CASE("terms of a distance stay what they are when longer segments come") {
  for (const std::string& name : position_encoding_names()) {
    for (bool causal : {false, true}) {
      CAPTURE(name);
      const NonzeroEncoding grown(name), fresh(name);
      Tape tape(cpu_kernels(), {}), other_tape(cpu_kernels(), {});
      grown.terms(tape, 2, causal);
      const PositionTerms before = grown.terms(tape, 5, causal), after = grown.terms(tape, 9, causal),
                          at_once = fresh.terms(other_tape, 5, causal);
      for (int64_t t = -4; t <= (causal ? 0 : 4); ++t) {
        const auto check_table = [&](Var PositionTerms::*table) {
          if (!(before.*table)) return;
          const std::vector<double> row = row_of(before, before.*table, t);
          for (const PositionTerms& other : {after, at_once}) {
            const std::vector<double> same = row_of(other, other.*table, t);
            for (size_t f = 0; f < row.size(); ++f) CHECK(same[f] == doctest::Approx(row[f]).epsilon(1e-13));
          }
        };
        check_table(&PositionTerms::bias);
        check_table(&PositionTerms::query_table);
        check_table(&PositionTerms::key_table);
        check_table(&PositionTerms::value_table);
      }
    }
  }
}

TEST_CASE("attention of relative encodings depends on distances only: a sentence that starts later is the same") {
  const std::set<std::string> absolute{"sinusoidal", "learned", "tupe"};
  const Tensor x = normal_tensor({12, kDim}, DType::f64, 5, 0);
  for (const std::string& name : position_encoding_names()) {
    CAPTURE(name);
    const NonzeroEncoding made(name);
    const auto whole = attend_nearby(made, x), later = attend_nearby(made, x.slice(3, 12));
    double difference = 0;
    for (int64_t i = kDim; i < 9 * kDim; ++i)  // the first token lost a neighbor
      difference = std::max(difference, std::abs(whole.data<double>()[3 * kDim + i] - later.data<double>()[i]));
    CHECK((difference < 1e-12) == !absolute.contains(name));
  }
}

TEST_CASE("t5: the buckets are those of transformers") {
  const auto all = test::read_golden("positions/t5.json");
  for (const auto& golden : all["buckets"]) {
    const int64_t first = golden["first"];
    for (size_t i = 0; i < golden["values"].size(); ++i) {
      CAPTURE(first + int64_t(i));
      CHECK(distance_bucket(first + int64_t(i), golden["buckets"], golden["max_distance"], golden["causal"]) ==
            golden["values"][i].get<int64_t>());
    }
  }
}

TEST_CASE("alibi: slopes of any number of heads") {
  const auto slopes = [](int64_t heads) {
    const NonzeroEncoding alibi("alibi", Json::object(), 2 * heads, heads);
    Tape tape(cpu_kernels(), {});
    const PositionTerms terms = alibi.terms(tape, 4, false);
    CHECK(row_of(terms, terms.bias, 3) == row_of(terms, terms.bias, -3));
    std::vector<double> found;
    for (double bias : row_of(terms, terms.bias, -1)) found.push_back(-bias);
    return found;
  };
  CHECK(slopes(1) == std::vector{std::exp2(-8.0)});
  CHECK(slopes(3) == std::vector{std::exp2(-4.0), std::exp2(-8.0), std::exp2(-2.0)});
  const std::vector<double> eight = slopes(8), twelve = slopes(12);
  for (size_t h = 0; h < 8; ++h) {
    CHECK(eight[h] == std::exp2(-double(h + 1)));
    CHECK(twelve[h] == eight[h]);
  }
  for (size_t h = 0; h < 4; ++h) CHECK(twelve[8 + h] == std::exp2(-0.5 * double(2 * h + 1)));
}

TEST_CASE("wavelet: empty lists are the paper's") {
  const auto table = [](const Json& options, int64_t width) {
    const NonzeroEncoding made("wavelet", options, width, 1);
    Tape tape(cpu_kernels(), {});
    return made.terms(tape, 30, true).query_table.value().to_vector<double>();
  };
  const std::vector<double> eight{1, 2, 4, 8, 16, 32, 64, 128};
  const Json none = Json::object(), three = Json::array({3});
  CHECK(table(none, 16) == table({{"wavelet_scales", eight}, {"wavelet_shifts", {0, 1}}}, 16));
  CHECK(table(none, 6) == table({{"wavelet_scales", {1, 2}}, {"wavelet_shifts", {0, 1, 2}}}, 6));
  CHECK(table({{"wavelet_scales", three}}, 3) == table({{"wavelet_scales", three}, {"wavelet_shifts", {0, 1, 2}}}, 3));
}

TEST_CASE("encodings refuse what they have no meaning for") {
  const auto refusal = [](const std::string& name, const Json& options, int64_t dim = kDim) {
    const PositionConfig config = test::position_config(name, options);
    Parameters scratch;
    return error_of([&] {
      make_position_encoding({.config = config, .dim = dim, .heads = kHeads, .parameters = scratch, .name = "p"});
    });
  };
  CHECK(refusal("wavelet", {{"wavelet_scales", {1, 2}}, {"wavelet_shifts", {0, 1, 2}}}) ==
        "[wavelet] scales x shifts must fill the head's width, 8, got 2 scales x 3 shifts");
  CHECK(refusal("wavelet", {{"wavelet_scales", {1, 0}}}) == "[wavelet] scales must be positive, got 0");
  CHECK(refusal("shaw", {{"shaw_clip", 0}}) == "[shaw] the clip must be at least 1, got 0");
  CHECK(refusal("nezha", {{"nezha_clip", 0}}) == "[nezha] the clip must be at least 1, got 0");
  CHECK(refusal("nezha", Json::object(), 7 * kHeads) == "[nezha] the width of a head must be even, got 7");
  CHECK(refusal("deberta", {{"deberta_clip", 0}}) == "[deberta] the clip must be at least 1, got 0");
  CHECK(refusal("t5", {{"bias_buckets", 5}}) == "[t5] the buckets must be even and at least 4, got 5");
  CHECK(refusal("tupe", {{"bias_max_distance", 16}}) ==
        "[tupe] the largest distance must be above half the buckets, 16, got 16");
  CHECK(refusal("tupe", {{"max_positions", 0}}) == "[tupe] max_positions must be at least 1, got 0");
  CHECK(refusal("xl", Json::object(), 7 * kHeads / 2) == "[xl] dim must be even, got 7");
  CHECK(refusal("rope", {{"rope_step", 0}}) == "[rope] step must be positive, got 0");
  CHECK(refusal("rope", {{"rope_scaling", "linear"}, {"rope_scaling_factor", 0.5}}) ==
        "[rope] scaling factor must be at least 1, got 0.5");
  CHECK(refusal("rope", {{"rotary_dims", 2}, {"rope_scaling", "ntk"}}) ==
        "[rope] ntk scaling needs rotary dims of at least 4, got 2");
  CHECK(refusal("rope", {{"rope_base", 1}, {"rope_scaling", "yarn"}}) ==
        "[rope] yarn scaling needs a base above 1, got 1");
  CHECK(refusal("rope", {{"rope_scaling", "yarn"}, {"rope_original_length", 0}}) ==
        "[rope] original length must be at least 1, got 0");
  CHECK(refusal("rope", {{"rope_scaling", "llama3"}, {"rope_low_freq_factor", 4}}) ==
        "[rope] llama3 scaling needs 0 < low_freq_factor < high_freq_factor, got 4 and 4");
}

TEST_CASE("tupe refuses a sentence beyond its table") {
  const NonzeroEncoding tupe("tupe");
  Tape tape(cpu_kernels(), {});
  CHECK(tupe.encoding->longest() == 40);
  CHECK_NOTHROW(tupe.terms(tape, 40, true));
  CHECK_THROWS_WITH_AS(tupe.terms(tape, 41, true),
                       "[tupe] expected at most max_positions = 40 tokens in a sentence, got 41", Error);
}

}  // namespace gyre
