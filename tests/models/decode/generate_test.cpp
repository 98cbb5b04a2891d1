// Tests the continuation of prompts by causal models: the cache, the choice of tokens, and batches.
#include "gyre/models/decode/generate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gyre/models/position/rope.h"
#include "tests/errors.h"
#include "tests/models/tiny_encoder.h"
#include "tests/threads_in_scope.h"

namespace gyre {
namespace {

using test::causal_encoder;
using test::ids_of;
using Ids = std::vector<int32_t>;

std::vector<EncoderOnlyConfig> models() {
  std::vector<EncoderOnlyConfig> all = test::tiny_decoders();
  for (const std::string& position : position_encoding_names()) all.push_back(causal_encoder(position));
  all.push_back(causal_encoder("rope"));
  all.back().position.get<RopeOptions>().rotate_values = true;
  all.back().embedding_dim = 6;
  for (const FeatureMap map : {FeatureMap::elu, FeatureMap::relu, FeatureMap::softmax, FeatureMap::favor}) {
    for (const LinearRope place : {LinearRope::post_map, LinearRope::pre_map}) {
      all.push_back(causal_encoder("rope"));
      all.back().attention = {.kind = AttentionKind::linear, .linear_map = map, .linear_rope = place};
    }
  }
  return all;
}

std::unique_ptr<EncoderOnly> allocated(const EncoderOnlyConfig& config, DType dtype = DType::f32) {
  auto model = std::make_unique<EncoderOnly>(config);
  test::allocate_nonzero(model->parameters(), 5, dtype);
  return model;
}

// Logits of the token after `ids`, from a pass over the whole text.
std::vector<float> logits_after(const EncoderOnly& model, const Ids& ids) {
  Tape tape(cpu_kernels(), {.record = false});
  const auto rows = int32_t(ids.size());
  const Var states = model.encode(tape, ids_of(ids), Segments::from_lengths({rows}));
  const Tensor logits = model.logits(states).value();
  return logits.slice(rows - 1, rows).to_vector<float>();
}

std::vector<Generation::Text> continued(const EncoderOnly& model, const std::vector<Prompt>& prompts,
                                        const GenerationOptions& options) {
  Generation generation(model, cpu_kernels(), prompts, options);
  while (!generation.done()) generation.step();
  return generation.texts();
}

const Ids kLong{4, 7, 3, 9, 6}, kShort{5};

}  // namespace

TEST_CASE("generate: chunks of several texts give the states of whole texts") {
  for (const EncoderOnlyConfig& config : models()) {
    CAPTURE(config.to_json().dump());
    const auto model = allocated(config, DType::f64);
    Tape tape(cpu_kernels(), {.record = false});
    const Var whole = model->encode(tape, ids_of({4, 7, 3, 9, 6, 5, 8, 3}), Segments::from_lengths({5, 3}));
    TokenCache cache(int(config.layers), {{7}, {3}});
    std::vector<double> first, second;
    // The chunks of the first text have 2, 1, 0 and 2 tokens, those of the second 1, 0, 1 and 1.
    const auto advance = [&](const Ids& ids, int32_t of_first) {
      const Segments chunk = Segments::from_lengths({of_first, int32_t(ids.size()) - of_first});
      const auto states = model->advance(tape, ids_of(ids), chunk, cache).value().to_vector<double>();
      const auto split = states.begin() + of_first * config.dim;
      first.insert(first.end(), states.begin(), split);
      second.insert(second.end(), split, states.end());
    };
    advance({4, 7, 5}, 2);
    advance({3}, 1);
    advance({8}, 0);
    advance({9, 6, 3}, 2);
    first.insert(first.end(), second.begin(), second.end());
    const auto expected = whole.value().to_vector<double>();
    REQUIRE(first.size() == expected.size());
    for (size_t i = 0; i < first.size(); ++i) CHECK(first[i] == doctest::Approx(expected[i]).epsilon(1e-10));
  }
}

TEST_CASE("generate: a greedy continuation has the most probable tokens") {
  for (const EncoderOnlyConfig& config : models()) {
    CAPTURE(config.to_json().dump());
    const auto model = allocated(config);
    const auto texts = continued(*model, {{kLong, 0, 6}, {kShort, 1, 4}}, {.temperature = 0, .eos = 10});
    for (size_t i = 0; i < texts.size(); ++i) {
      Ids text = i == 0 ? kLong : kShort;
      for (size_t n = 0; n < texts[i].ids.size(); ++n) {
        const std::vector<float> logits = logits_after(*model, text);
        const float largest = *std::max_element(logits.begin(), logits.end());
        CHECK(logits[size_t(texts[i].ids[n])] == doctest::Approx(largest).epsilon(1e-4));
        double sum = 0;
        for (const float logit : logits) sum += std::exp(double(logit) - double(largest));
        CHECK(texts[i].log_probs[n] == doctest::Approx(-std::log(sum)).epsilon(1e-3));
        text.push_back(texts[i].ids[n]);
      }
      const bool ended = texts[i].ids.size() < (i == 0 ? 6 : 4);
      if (ended) {
        const std::vector<float> logits = logits_after(*model, text);
        CHECK(logits[10] == doctest::Approx(*std::max_element(logits.begin(), logits.end())).epsilon(1e-4));
      }
      CHECK(texts[i].end == (ended ? Generation::End::eos : Generation::End::length));
    }
  }
}

TEST_CASE("generate: a text does not depend on the others of its batch, or on the number of threads") {
  const auto model = allocated(test::tiny_decoders()[1]);
  const GenerationOptions options{.temperature = 1.5, .top_k = 7, .top_p = 0.95, .seed = 3, .eos = 10};
  const std::vector<Prompt> prompts{{kLong, 17, 20}, {kShort, 18, 9}, {{3, 3, 8}, 19, 14}};
  const auto together = continued(*model, prompts, options);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const ThreadsInScope one_thread(1);
    CHECK(continued(*model, {prompts[i]}, options)[0].ids == together[i].ids);
  }
  GenerationOptions other = options;
  other.seed = 4;
  CHECK(continued(*model, prompts, other)[0].ids != together[0].ids);
}

TEST_CASE("generate: the choice of a token") {
  const std::vector<float> logits{1, 3, 2.9F, -1, 2};
  const auto choices = [&](const GenerationOptions& options, const Ids& text = {}) {
    std::vector<int> counts(logits.size());
    for (uint32_t step = 0; step < 4000; ++step) ++counts[size_t(choose_token(logits, text, options, 5, step))];
    return counts;
  };
  const auto only = [&](const GenerationOptions& options, const std::vector<size_t>& allowed, const Ids& text = {}) {
    const std::vector<int> counts = choices(options, text);
    for (size_t id = 0; id < counts.size(); ++id)
      CHECK((counts[id] > 0) == (std::find(allowed.begin(), allowed.end(), id) != allowed.end()));
  };
  only({.temperature = 0}, {1});
  only({}, {0, 1, 2, 3, 4});
  only({.top_k = 3}, {1, 2, 4});
  only({.top_p = 0.5}, {1, 2});
  only({.min_p = 0.3}, {1, 2, 4});  // exp(2 - 3) = 0.37, exp(1 - 3) = 0.14
  only({.suppressed = {1, 4}}, {0, 2, 3});
  // 3 becomes 1.5, and -1 becomes -2: the most probable tokens are 2, 4 and 1.
  only({.temperature = 0, .repetition_penalty = 2}, {2}, {1, 3});
  only({.min_p = 0.2, .repetition_penalty = 2}, {1, 2, 4}, {1, 3});
  // Frequencies at temperature 2: exp(l / 2) over their sum.
  const std::vector<int> counts = choices({.temperature = 2});
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double(logit) / 2);
  for (size_t id = 0; id < logits.size(); ++id)
    CHECK(counts[id] / 4000.0 == doctest::Approx(std::exp(double(logits[id]) / 2) / sum).epsilon(0.1));
}

// With a window, the cache drops the rows that no later row sees, and its size is that of the prompt and a window.
TEST_CASE("generate: with a window, the cache does not grow") {
  for (const char* position : {"rope", "alibi", "t5", "sinusoidal"}) {
    CAPTURE(position);
    EncoderOnlyConfig config = causal_encoder(position);
    config.attention = {.kind = AttentionKind::window, .window = 3};
    const auto model = allocated(config);
    const auto capacity = [&](int tokens) { return token_cache_for(*model, {{kLong, 0, tokens}}).capacity(); };
    CHECK(capacity(2) == 6);
    CHECK(capacity(100) == 8);
    CHECK(capacity(1'000'000) == 8);
  }
}

TEST_CASE("generate: ends, limits and errors") {
  const auto model = allocated(causal_encoder("rope"));
  Generation generation(*model, cpu_kernels(), {{kLong, 0, 5}, {kShort, 1, 1}}, {.temperature = 0, .eos = -1});
  generation.step();
  CHECK(generation.texts()[1].end == Generation::End::length);
  generation.stop(0);
  CHECK(generation.done());
  CHECK(generation.texts()[0].end == Generation::End::stopped);

  EncoderOnlyConfig learned = causal_encoder("learned");
  const int64_t positions = EncoderOnly(learned).longest();
  const auto limited = allocated(learned);
  const auto most = int32_t(positions - int64_t(kLong.size()));
  const auto text = continued(*limited, {{kLong, 0, 10'000}}, {.temperature = 0, .eos = -1})[0];
  CHECK(int32_t(text.ids.size()) == most + 1);  // the last token is not read
  CHECK(text.end == Generation::End::length);
  const Ids too_long(size_t(positions + 1), 4);
  CHECK(error_of([&] {
          continued(*limited, {{too_long, 0, 1}}, {});
        }) == concat("[generate] expected a prompt of at most ", positions, " tokens, the positions of the model, got ",
                     positions + 1));
  CHECK(error_of([&] {
          continued(*limited, {{{}, 0, 1}}, {});
        }) == "[generate] expected a prompt of at least one token and a continuation of at least one, got 0 and 1");
  EncoderOnlyConfig bidirectional = causal_encoder("rope");
  bidirectional.causal = false;
  const auto encoder = allocated(bidirectional);
  CHECK(error_of([&] {
          continued(*encoder, {{kLong, 0, 1}}, {});
        }) == "[generate] this model cannot continue texts: the model is bidirectional");
}

TEST_CASE("generate: segments with gaps") {
  const Segments rows = Segments::with_gaps({0, 4, 4}, {3, 0, 2}, 9);
  CHECK(rows.count() == 3);
  CHECK(rows.tokens() == 9);
  CHECK(rows.longest() == 3);
  CHECK(rows.begin(2) == 4);
  CHECK(rows.end(2) == 6);
  CHECK(rows.length(1) == 0);
  CHECK(error_of([] {
          Segments::with_gaps({0, 2}, {3, 1}, 9);
        }) == "[segments] each must end before the next one begins");
}

}  // namespace gyre
