#include "gyre/models/decode/beam_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gyre/models/decode/translate.h"
#include "tests/models/tiny_model.h"

namespace gyre {

using test::nonzero_model;
using test::random_sources;
using test::Sentences;

// All sequences of these tokens up to a length, with their log-probabilities by teacher forcing.
static std::map<std::vector<int32_t>, double> enumerate(const EncoderDecoder& model, const std::vector<int32_t>& source,
                                                        const std::vector<int32_t>& tokens, size_t longest) {
  std::map<std::vector<int32_t>, double> all;
  std::vector<std::vector<int32_t>> open{{}};
  while (!open.empty()) {
    const std::vector<int32_t> prefix = open.back();
    open.pop_back();
    all[prefix] = test::sentence_log_probability(model, source, prefix);
    if (prefix.size() == longest) continue;
    for (int32_t token : tokens) {
      open.push_back(prefix);
      open.back().push_back(token);
    }
  }
  return all;
}

TEST_CASE("a wide beam finds the best sequences for every length penalty") {
  const test::OneThread one_thread;
  EncoderDecoderConfig config = test::tiny_config();
  config.vocab_size = 5;
  const std::vector<int32_t> source{3, 4, 3};
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const EncoderDecoder model = nonzero_model(config, seed);
    const auto all = enumerate(model, source, {0, 3, 4}, 3);
    REQUIRE(all.size() == 1 + 3 + 9 + 27);
    for (LengthPenaltyForm form : {LengthPenaltyForm::fairseq, LengthPenaltyForm::gnmt})
      for (double exponent : {0.0, 0.6, 1.5, -0.5}) {
        CAPTURE(exponent);
        const DecodeOptions options{.beam_size = 40,
                                    .length_penalty = exponent,
                                    .form = form,
                                    .stop = StopRule::exact,
                                    .max_length_factor = 0,
                                    .max_length_extra = 3,
                                    .n_best = 5};
        const auto found = beam_search(model, cpu_kernels(), test::with_eos({source}), options).front();
        std::vector<double> scores;
        for (const auto& [ids, log_probability] : all)
          scores.push_back(log_probability / length_divisor(form, exponent, int64_t(ids.size()) + 1));
        std::sort(scores.rbegin(), scores.rend());
        REQUIRE(found.size() == 5);
        for (size_t i = 0; i < found.size(); ++i) {
          CHECK(found[i].score == doctest::Approx(scores[i]).epsilon(1e-4));
          CHECK(found[i].log_probability == doctest::Approx(all.at(found[i].ids)).epsilon(1e-4));
        }
      }
  }
}

TEST_CASE("beam 1 is greedy search") {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const EncoderDecoder model = nonzero_model(test::tiny_config(), seed);
    const Sentences sources = random_sources(1, seed);
    const DecodeOptions options{.beam_size = 1, .max_length_factor = 0, .max_length_extra = 12};
    const Hypothesis found = beam_search(model, cpu_kernels(), sources, options).front().front();

    std::vector<int32_t> greedy, source(sources[0].begin(), sources[0].end() - 1);
    while (greedy.size() < 12) {
      const Tensor log_probs = test::teacher_forced(model, {source}, {greedy});
      float* last = log_probs.data<float>() + (log_probs.rows() - 1) * log_probs.cols();
      last[test::kBos] = -1e9F;
      const auto best = int32_t(std::max_element(last, last + log_probs.cols()) - last);
      if (best == test::kEos) break;
      greedy.push_back(best);
    }
    CHECK(found.ids == greedy);
    CHECK(found.log_probability ==
          doctest::Approx(test::sentence_log_probability(model, source, greedy)).epsilon(1e-4));
  }
}

static void check_same(const std::vector<std::vector<Hypothesis>>& a, const std::vector<std::vector<Hypothesis>>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (size_t k = 0; k < a[i].size(); ++k) {
      CHECK(a[i][k].ids == b[i][k].ids);
      CHECK(a[i][k].score == doctest::Approx(b[i][k].score).epsilon(1e-4));
    }
  }
}

TEST_CASE("the result for a sentence does not depend on its batch") {
  for (const char* position : {"rope", "sinusoidal"}) {
    const EncoderDecoder model = nonzero_model(test::tiny_config(position), 3);
    const Sentences sources = random_sources(17, 5);
    const DecodeOptions options{.beam_size = 3, .max_length_extra = 20, .n_best = 2};
    std::vector<std::vector<Hypothesis>> alone;
    for (const auto& source : sources) alone.push_back(beam_search(model, cpu_kernels(), {source}, options).front());
    check_same(beam_search(model, cpu_kernels(), sources, options), alone);

    std::vector<size_t> done;
    check_same(translate(model, cpu_kernels(), sources, options, {.sentences = 5, .tokens = 20},
                         [&](size_t n) { done.push_back(n); }),
               alone);
    CHECK(done.size() > 3);
    CHECK(done.back() == sources.size());
  }
}

TEST_CASE("hypotheses are sorted, and their log-probabilities are sums of the model's") {
  const EncoderDecoder model = nonzero_model(test::tiny_config(), 4);
  const Sentences sources = random_sources(6, 2);
  const auto results = beam_search(model, cpu_kernels(), sources, {.beam_size = 4, .n_best = 4});
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<int32_t> source(sources[i].begin(), sources[i].end() - 1);
    REQUIRE(results[i].size() == 4);
    for (size_t k = 0; k < 4; ++k) {
      const Hypothesis& h = results[i][k];
      REQUIRE(h.token_log_probs.size() == h.ids.size() + 1);
      double sum = 0;
      for (float x : h.token_log_probs) sum += double(x);
      CHECK(h.log_probability == doctest::Approx(sum).epsilon(1e-5));
      CHECK(h.log_probability == doctest::Approx(test::sentence_log_probability(model, source, h.ids)).epsilon(1e-4));
      CHECK(h.score == doctest::Approx(sum / std::pow(double(h.ids.size()) + 1, 0.6)).epsilon(1e-4));
      if (k > 0) CHECK(h.score <= results[i][k - 1].score);
    }
  }
}

TEST_CASE("BOS and suppressed ids are never produced, and lengths are limited") {
  const EncoderDecoder model = nonzero_model(test::tiny_config("learned"), 6);
  const Sentences sources = random_sources(10, 3);
  DecodeOptions options{.beam_size = 4, .length_penalty = 2, .n_best = 4, .suppressed = {0, 5}};
  options.max_length_factor = 0.5;
  options.max_length_extra = 3;
  size_t longest = 0;
  const auto results = beam_search(model, cpu_kernels(), sources, options);
  for (size_t i = 0; i < sources.size(); ++i)
    for (const Hypothesis& h : results[i]) {
      CHECK(h.ids.size() <= sources[i].size() / 2 + 3);
      for (int32_t id : h.ids) CHECK((id != 0 && id != 5 && id != test::kBos && id != test::kEos));
      longest = std::max(longest, h.ids.size());
    }
  CHECK(longest > 3);

  // The table of positions has 40 rows, enough for BOS and 39 tokens.
  options.max_length_extra = 1000;
  options.stop = StopRule::exact;
  for (const auto& hypotheses : beam_search(model, cpu_kernels(), sources, options))
    for (const Hypothesis& h : hypotheses) CHECK(h.ids.size() <= 39);
}

TEST_CASE("decoding: NaN and out-of-range options throw a UsageError") {
  const auto error = [](const DecodeOptions& options) -> std::string {
    try {
      options.validate_search("--valid-");
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(error({}) == "");
  CHECK(error({.beam_size = 0}) == "[--valid-beam-size] expected a number from 1 to 1000, got 0");
  CHECK(error({.beam_size = 2'000'000'000}) == "[--valid-beam-size] expected a number from 1 to 1000, got 2000000000");
  CHECK(error({.length_penalty = NAN}) == "[--valid-length-penalty] expected a number from -1 to 10, got nan");
  CHECK(error({.length_penalty = HUGE_VAL}) == "[--valid-length-penalty] expected a number from -1 to 10, got inf");
  CHECK(error({.max_length_factor = 1e300}) ==
        "[--valid-max-length-factor] expected a number from 0 to 1000, got 1e+300");
  CHECK(error({.max_length_extra = std::numeric_limits<int>::max()}) ==
        "[--valid-max-length-extra] expected a number from 0 to 100000, got 2147483647");
}

TEST_CASE("decoding: invalid sources, options and weights throw") {
  EncoderDecoder model = nonzero_model(test::tiny_config(), 4);
  const auto search = [&](const Sentences& sources, const DecodeOptions& options) {
    return beam_search(model, cpu_kernels(), sources, options);
  };
  CHECK(search({}, {}).empty());
  CHECK_THROWS_WITH_AS(search({{3, 2}, {}}, {}), "[decoding] source 1 is empty, expected at least its EOS", Error);
  CHECK_THROWS_WITH_AS(search({{2}}, {.beam_size = 2, .n_best = 3}), "[--n-best] expected 1 to the beam size 2, got 3",
                       Error);
  CHECK_THROWS_WITH_AS(search({{2}}, {.eos = 11}), "[eos] expected an id below 11, got 11", Error);
  CHECK_THROWS_WITH_AS(search({{2}}, {.suppressed = {2}}), "[suppressed] expected ids other than the EOS, got 2",
                       Error);
  model.parameters()[0].value.data<float>()[16] = std::nanf("");
  CHECK_THROWS_AS(search({{2}}, {}), Error);
}

TEST_CASE("batches are sorted by length, respect both limits and have every sentence once") {
  const std::vector<int64_t> lengths{3, 9, 1, 3, 20, 3, 1};
  const auto batches = batches_by_length(lengths, {.sentences = 3, .tokens = 12});
  CHECK(batches == std::vector<std::vector<size_t>>{{4}, {1, 0}, {3, 5, 2}, {6}});
  CHECK(batches_by_length({}, {}).empty());
  CHECK_THROWS_AS(batches_by_length(lengths, {.sentences = 0}), Error);
}

}  // namespace gyre
