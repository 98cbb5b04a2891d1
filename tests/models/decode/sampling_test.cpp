#include "gyre/models/decode/sampling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gyre/core/error.h"
#include "gyre/models/decode/translate.h"
#include "tests/errors.h"
#include "tests/models/tiny_model.h"

namespace gyre {

using test::random_sources;
using test::Sentences;

static EncoderDecoder model_with(const std::string& position = "rope") {
  return test::nonzero_model(test::tiny_config(position), 4);
}

static std::vector<uint64_t> numbers(size_t count) {
  std::vector<uint64_t> lines(count);
  std::iota(lines.begin(), lines.end(), uint64_t{0});
  return lines;
}

// The first token of each of 20,000 samples, against the distribution that the model and the options give it. A
// chi-square statistic with at most 9 degrees of freedom exceeds 27.9 with probability 0.001; the draws are fixed.
TEST_CASE("sampling: first tokens have the tempered and truncated distribution of the model") {
  const EncoderDecoder model = model_with();
  const std::vector<int32_t> source{4, 7, 3};
  const Tensor log_probs = test::teacher_forced(model, {source}, {{}});
  DecodeOptions options{.max_length_extra = 1, .suppressed = {0}};
  options.max_length_factor = 0;
  const std::pair<double, int> settings[] = {{1, 0}, {0.5, 0}, {3, 0}, {1, 4}};
  for (const auto& [temperature, top_k] : settings) {
    CAPTURE(temperature);
    std::vector<double> expected(11), order;
    for (size_t id = 0; id < 11; ++id)
      if (id != 0 && id != size_t(test::kBos)) expected[id] = std::exp(log_probs.data<float>()[id] / temperature);
    order = expected;
    std::sort(order.rbegin(), order.rend());
    for (double& p : expected)
      if (top_k > 0 && p < order[size_t(top_k - 1)]) p = 0;
    const double total = std::accumulate(expected.begin(), expected.end(), 0.0);

    std::vector<double> counts(11);
    for (uint64_t line = 0; line < 20; ++line) {
      const SamplingOptions sampling{.temperature = temperature, .top_k = top_k, .seed = 11, .samples = 1000};
      const auto drawn = sample(model, cpu_kernels(), {{4, 7, 3, 2}}, {line}, options, sampling);
      for (const Hypothesis& h : drawn.front()) ++counts[size_t(h.ids.empty() ? test::kEos : h.ids.front())];
    }
    double statistic = 0;
    for (size_t id = 0; id < 11; ++id) {
      if (expected[id] == 0) {
        CHECK(counts[id] == 0);
      } else {
        const double mean = 20'000 * expected[id] / total;
        statistic += std::pow(counts[id] - mean, 2) / mean;
      }
    }
    CHECK(statistic < 27.9);
  }
}

TEST_CASE("sampling: a low temperature, a top-k of 1 and a tiny top-p are greedy search") {
  const EncoderDecoder model = model_with();
  const Sentences sources = random_sources(8, 3);
  const DecodeOptions options{.beam_size = 1, .max_length_extra = 10};
  const auto greedy = translate(model, cpu_kernels(), sources, options);
  const SamplingOptions settings[] = {{.temperature = 0.001}, {.top_k = 1}, {.top_p = 1e-9}};
  for (const SamplingOptions& sampling : settings) {
    const auto drawn = sample_translations(model, cpu_kernels(), sources, numbers(8), options, sampling);
    for (size_t i = 0; i < sources.size(); ++i) {
      CHECK(drawn[i].front().ids == greedy[i].front().ids);
      CHECK(drawn[i].front().log_probability == doctest::Approx(greedy[i].front().log_probability).epsilon(1e-5));
    }
  }
}

TEST_CASE("sampling: a sample depends on seed, line and number, and not on the batch or the number of samples") {
  const EncoderDecoder first = model_with("rope"), second = model_with("sinusoidal");
  const Sentences sources = random_sources(20, 3);
  const DecodeOptions options{.max_length_extra = 10};
  for (const Ensemble& ensemble : {Ensemble(first), Ensemble({&first, &second})}) {
    const auto draw = [&](const SamplingOptions& sampling, const DecodingBatchLimits& limits) {
      return sample_translations(ensemble, cpu_kernels(), sources, numbers(20), options, sampling, limits);
    };
    const auto all = draw({.seed = 3, .samples = 4}, {});
    for (const auto& [sentences, samples] : {std::pair(1, 4), std::pair(7, 4), std::pair(20, 2)}) {
      const auto other = draw({.seed = 3, .samples = samples}, {.sentences = sentences});
      for (size_t i = 0; i < sources.size(); ++i) {
        REQUIRE(other[i].size() == size_t(samples));
        for (size_t s = 0; s < size_t(samples); ++s) CHECK(other[i][s].ids == all[i][s].ids);
      }
    }
    size_t equal = 0;
    const auto other_seed = draw({.seed = 4, .samples = 4}, {});
    for (size_t i = 0; i < sources.size(); ++i) {
      equal += size_t(all[i][0].ids == all[i][1].ids);
      equal += size_t(all[i][0].ids == other_seed[i][0].ids);
    }
    CHECK(equal < 15);
  }
}

TEST_CASE("sampling: log-probabilities are the model's, whatever the temperature") {
  const EncoderDecoder model = model_with();
  const Sentences sources = test::random_sentences(6, 8, 11, 3);
  const DecodeOptions options{.length_penalty = 0.7, .max_length_extra = 6};
  const auto drawn =
      sample(model, cpu_kernels(), test::with_eos(sources), numbers(6), options, {.temperature = 2, .top_k = 6});
  for (size_t i = 0; i < sources.size(); ++i) {
    const Hypothesis& h = drawn[i].front();
    const double expected = test::sentence_log_probability(model, sources[i], h.ids);
    CHECK(h.log_probability == doctest::Approx(expected).epsilon(1e-4));
    CHECK(h.score == doctest::Approx(expected / std::pow(double(h.ids.size()) + 1, 0.7)).epsilon(1e-4));
  }
}

TEST_CASE("sampling: suppressed ids are never drawn, and lengths are limited") {
  const EncoderDecoder model = model_with("learned");
  DecodeOptions options{.max_length_extra = 3, .suppressed = {0, 5}};
  options.max_length_factor = 0.5;
  const Sentences sources = random_sources(10, 3);
  const auto drawn = sample(model, cpu_kernels(), sources, numbers(10), options, {.temperature = 1000, .samples = 50});
  bool reaches = false;
  for (size_t i = 0; i < sources.size(); ++i)
    for (const Hypothesis& h : drawn[i]) {
      CHECK(h.ids.size() <= sources[i].size() / 2 + 3);
      reaches = reaches || h.ids.size() == sources[i].size() / 2 + 3;
      for (const int32_t id : h.ids) CHECK((id != 0 && id != 5 && id != test::kBos && id != test::kEos));
    }
  CHECK(reaches);
}

TEST_CASE("sampling: invalid options and weights throw") {
  EncoderDecoder model = model_with();
  const auto error = [&](const SamplingOptions& sampling) {
    return error_of([&] { sample(model, cpu_kernels(), {{2}}, {0}, {}, sampling); });
  };
  CHECK(error({}) == "no error");
  CHECK(error({.temperature = 0}) == "[--temperature] expected a number from 0.001 to 1000, got 0");
  CHECK(error({.temperature = NAN}) == "[--temperature] expected a number from 0.001 to 1000, got nan");
  CHECK(error({.top_k = -1}) == "[--top-k] expected at least 0, got -1");
  CHECK(error({.top_p = 0}) == "[--top-p] expected a number above 0 and at most 1, got 0");
  CHECK(error({.top_p = 1.5}) == "[--top-p] expected a number above 0 and at most 1, got 1.5");
  CHECK(error({.samples = 0}) == "[--n-best] expected a number from 1 to 1000, got 0");
  CHECK_THROWS_AS(sample(model, cpu_kernels(), {{2}}, {}, {}, {}), Error);
  model.parameters()[0].value.data<float>()[16] = std::nanf("");
  CHECK(error({}) == "[sampling] expected probabilities, got NaN after 0 tokens");
}

}  // namespace gyre

namespace gyre {

static std::vector<int32_t> sorted(std::vector<int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST_CASE("top-k and top-p keep exactly the most probable tokens, and lower ids of equal ones") {
  const std::vector<float> p{0.1F, 0.0F, 0.25F, 0.1F, 0.5F, 0.05F};
  const auto kept = [&](int top_k, double top_p) { return sorted(tokens_to_draw(p, top_k, top_p)); };
  using Ids = std::vector<int32_t>;
  CHECK(kept(0, 1) == Ids{0, 2, 3, 4, 5});
  CHECK(kept(100, 1) == Ids{0, 2, 3, 4, 5});
  CHECK(kept(1, 1) == Ids{4});
  CHECK(kept(2, 1) == Ids{2, 4});
  CHECK(kept(3, 1) == Ids{0, 2, 4});
  CHECK(kept(4, 1) == Ids{0, 2, 3, 4});
  CHECK(kept(0, 1e-9) == Ids{4});
  CHECK(kept(0, 0.499999) == Ids{4});
  CHECK(kept(0, 0.500001) == Ids{2, 4});
  CHECK(kept(0, 0.8) == Ids{0, 2, 4});
  CHECK(kept(0, 0.9) == Ids{0, 2, 3, 4});
  CHECK(kept(0, 0.999) == Ids{0, 2, 3, 4, 5});
  CHECK(kept(2, 0.66) == Ids{4});  // top-p counts within the top-k: 0.5 / 0.75
  CHECK(kept(2, 0.67) == Ids{2, 4});
  CHECK(tokens_to_draw(std::vector<float>{0, 0}, 0, 1).empty());
}

// The statistic sum (observed - expected)^2 / expected has the chi-square distribution with 5 degrees of freedom, which
// exceeds 20.5 with probability 0.001. The draws are fixed, so the test always has the same result.
TEST_CASE("frequencies of draws match the probabilities") {
  const std::vector<float> p{0.02F, 0.3F, 0.08F, 0.4F, 0.0F, 0.15F, 0.05F};
  const std::vector<int32_t> tokens = tokens_to_draw(p, 0, 1);
  constexpr int kDraws = 60'000;
  for (const bool over_steps : {false, true}) {
    std::vector<int> counts(p.size());
    for (uint32_t i = 0; i < kDraws; ++i)
      ++counts[size_t(draw_token(p, tokens, 7, over_steps ? 3 : i, over_steps ? i : 3))];
    double statistic = 0;
    for (const int32_t id : tokens) {
      const double expected = kDraws * double(p[size_t(id)]);
      statistic += std::pow(counts[size_t(id)] - expected, 2) / expected;
    }
    CHECK(statistic < 20.5);
    CHECK(counts[4] == 0);
  }
}

TEST_CASE("a draw depends on seed, stream and step, and not on the order of the tokens or on their scale") {
  std::vector<float> p(1000), scaled(1000);
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = 1 / float(i + 10);
    scaled[i] = 8 * p[i];
  }
  const std::vector<int32_t> tokens = tokens_to_draw(p, 0, 1), reversed(tokens.rbegin(), tokens.rend());
  int by_seed = 0, by_stream = 0, by_step = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    const int32_t drawn = draw_token(p, tokens, 5, i, 9);
    CHECK(draw_token(p, tokens, 5, i, 9) == drawn);
    CHECK(draw_token(p, reversed, 5, i, 9) == drawn);
    CHECK(draw_token(scaled, tokens, 5, i, 9) == drawn);
    by_seed += int(draw_token(p, tokens, 6, i, 9) != drawn);
    by_stream += int(draw_token(p, tokens, 5, i + 1, 9) != drawn);
    by_step += int(draw_token(p, tokens, 5, i, 10) != drawn);
  }
  for (const int different : {by_seed, by_stream, by_step}) CHECK(different > 180);
}

TEST_CASE("errors of probabilities in the last bits rarely change a draw") {
  std::vector<float> p(30'000), rounded(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = 1 / float(i + 1);
    rounded[i] = p[i] * (i % 2 == 0 ? 1 + 0x1p-20F : 1 - 0x1p-20F);
  }
  const std::vector<int32_t> tokens = tokens_to_draw(p, 0, 1);
  int changed = 0;
  for (uint32_t i = 0; i < 500; ++i)
    changed += int(draw_token(p, tokens, 1, i, 0) != draw_token(rounded, tokens, 1, i, 0));
  CHECK(changed == 0);
}

TEST_CASE("a draw without tokens throws") {
  CHECK_THROWS_WITH_AS(draw_token(std::vector<float>{0.0F}, {}, 1, 1, 0),
                       "[sampling] expected a token with a positive probability, found none", Error);
}

}  // namespace gyre
