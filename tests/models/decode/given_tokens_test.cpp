// Tests the scores of given continuations: shared contexts, batches, and the most probable tokens.
#include "gyre/models/decode/given_tokens.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/errors.h"
#include "tests/models/tiny_encoder.h"

namespace gyre {
namespace {

// The score of a continuation, one pass over the text before each of its tokens.
ContinuationScore slow_score(const EncoderOnly& model, const GivenContinuation& given) {
  ContinuationScore score;
  std::vector<int32_t> text = given.context;
  for (const int32_t id : given.ids) {
    Tape tape(cpu_kernels(), {.record = false});
    const auto rows = int32_t(text.size());
    const Var states = model.encode(tape, test::ids_of(text), Segments::from_lengths({rows}));
    const auto logits = model.logits(states).value().slice(rows - 1, rows).to_vector<float>();
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit));
    score.log_probs.push_back(float(double(logits[size_t(id)]) - std::log(sum)));
    score.is_greedy = score.is_greedy && std::max_element(logits.begin(), logits.end()) - logits.begin() == id;
    text.push_back(id);
  }
  return score;
}

std::vector<EncoderOnlyConfig> scored_models() {
  std::vector<EncoderOnlyConfig> all = test::tiny_decoders();
  for (const char* position : {"learned", "sinusoidal", "alibi", "t5", "wavelet"})
    all.push_back(test::causal_encoder(position));
  all.push_back(test::causal_encoder("rope"));
  all.back().attention = {.kind = AttentionKind::linear, .linear_map = FeatureMap::elu};
  return all;
}

// Contexts that several continuations have, that begin alike, of one token, and continuations of other lengths.
std::vector<GivenContinuation> continuations() {
  std::vector<GivenContinuation> all{{{4, 7, 3, 9}, {6, 2}}, {{5}, {3, 3, 9, 9}},       {{4, 7, 3, 9}, {6, 5}},
                                     {{4, 7, 5}, {1}},       {{4, 7, 3, 9}, {8}},       {{4, 7, 3, 9}, {2, 6, 10, 1}},
                                     {{4, 7, 5}, {1}},       {{4, 7, 3, 9, 6}, {2, 1}}, {{5}, {7}}};
  for (int32_t id = 0; id < 11; ++id) all.push_back({{10, 6, 8}, {id}});  // one of them is the most probable
  return all;
}

}  // namespace

TEST_CASE("given tokens: shared contexts and batches do not change scores") {
  const std::vector<GivenContinuation> given = continuations();
  for (const EncoderOnlyConfig& config : scored_models()) {
    CAPTURE(config.to_json().dump());
    EncoderOnly model(config);
    test::allocate_nonzero(model.parameters(), 5, DType::f32);
    for (const int64_t batch_tokens : {1, 12, 1000}) {
      CAPTURE(batch_tokens);
      std::vector<size_t> done;
      const auto scores = score_continuations(model, cpu_kernels(), given, Precision::fp32, batch_tokens,
                                              [&](size_t count) { done.push_back(count); });
      REQUIRE(scores.size() == given.size());
      int greedy = 0;
      for (size_t i = 0; i < given.size(); ++i) {
        CAPTURE(i);
        const ContinuationScore expected = slow_score(model, given[i]);
        REQUIRE(scores[i].log_probs.size() == expected.log_probs.size());
        double sum = 0;
        for (size_t t = 0; t < expected.log_probs.size(); ++t) {
          CHECK(scores[i].log_probs[t] == doctest::Approx(expected.log_probs[t]).epsilon(1e-5));
          sum += double(expected.log_probs[t]);
        }
        CHECK(scores[i].log_probability() == doctest::Approx(sum).epsilon(1e-5));
        CHECK(scores[i].is_greedy == expected.is_greedy);
        greedy += int(scores[i].is_greedy);
      }
      CHECK(greedy >= 1);
      CHECK(std::is_sorted(done.begin(), done.end()));
      CHECK(done.back() == given.size());
      CHECK((done.size() == 1) == (batch_tokens == 1000));
    }
  }
}

TEST_CASE("given tokens: errors") {
  EncoderOnly model(test::causal_encoder("rope"));
  test::allocate_nonzero(model.parameters(), 5, DType::f32);
  const auto error = [](const EncoderOnly& scored, const std::vector<GivenContinuation>& given, int64_t tokens = 9) {
    return error_of([&] { score_continuations(scored, cpu_kernels(), given, Precision::fp32, tokens); });
  };
  CHECK(score_continuations(model, cpu_kernels(), {}, Precision::fp32, 9).empty());
  CHECK(error(model, {{{}, {1}}}) == "[score] expected a context and a continuation, got 0 and 1 tokens");
  CHECK(error(model, {{{1}, {}}}) == "[score] expected a context and a continuation, got 1 and 0 tokens");
  CHECK(error(model, {{{1}, {1}}}, 0) == "[score] expected batches of at least 1 token, got 0");
  EncoderOnly encoder(test::tiny_encoder());
  test::allocate_nonzero(encoder.parameters(), 5, DType::f32);
  CHECK(contains(error(encoder, {{{1}, {1}}}), "the model is bidirectional"));
  model.parameters().begin()->value.data<float>()[40] = NAN;
  CHECK(contains(error(model, {{{5}, {1}}}), "[score] expected finite log-probabilities, got "));
}

}  // namespace gyre
