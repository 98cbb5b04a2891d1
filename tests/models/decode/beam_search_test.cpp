#include "gyre/models/decode/beam_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "gyre/core/random.h"
#include "gyre/models/decode/translate.h"
#include "tests/errors.h"
#include "tests/models/tiny_model.h"
#include "tests/threads_in_scope.h"

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
  const ThreadsInScope one_thread(1);
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

TEST_CASE("the result for a sentence does not depend on its batch") {
  for (const char* position : {"rope", "sinusoidal"}) {
    const EncoderDecoder model = nonzero_model(test::tiny_config(position), 3);
    const Sentences sources = random_sources(17, 5);
    const DecodeOptions options{.beam_size = 3, .max_length_extra = 20, .n_best = 2};
    std::vector<std::vector<Hypothesis>> alone;
    for (const auto& source : sources) alone.push_back(beam_search(model, cpu_kernels(), {source}, options).front());
    test::check_same(beam_search(model, cpu_kernels(), sources, options), alone);

    std::vector<size_t> done;
    test::check_same(translate(model, cpu_kernels(), sources, options, {.sentences = 5, .tokens = 20},
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
  const auto error = [](const DecodeOptions& options) {
    return error_of<UsageError>([&] { options.validate_search("--valid-"); });
  };
  CHECK(error({}) == "no error");
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

namespace gyre {

// Vocabulary of five: 2 is EOS, 3 and 4 are words.
static std::vector<float> row(double eos, double three, double four) {
  return {-1e9F, -1e9F, float(eos), float(three), float(four)};
}

static std::vector<float> rows(std::initializer_list<std::vector<float>> all) {
  std::vector<float> flat;
  for (const auto& r : all) flat.insert(flat.end(), r.begin(), r.end());
  return flat;
}

static NextTokens next_of(const std::vector<float>& log_probs) {
  const int64_t n = int64_t(log_probs.size()) / 5;
  const NextTokens next{Tensor::empty({n, 6}), Tensor::empty({n, 5}, DType::i32)};
  cpu_kernels().topk(next.log_probs, next.ids, Tensor::from<float>({n, 5}, log_probs), 2);
  return next;
}

static void number_rows(Beam& beam) {
  for (size_t i = 0; i < beam.live().size(); ++i) beam.live()[i].row = int(i);
}

TEST_CASE("length penalties equal values computed by hand") {
  CHECK(length_divisor(LengthPenaltyForm::fairseq, 0.6, 4) == doctest::Approx(std::pow(4.0, 0.6)));
  CHECK(length_divisor(LengthPenaltyForm::gnmt, 0.6, 4) == doctest::Approx(std::pow(1.5, 0.6)));
  CHECK(length_divisor(LengthPenaltyForm::gnmt, 1, 1) == 1);
  CHECK(length_divisor(LengthPenaltyForm::fairseq, 0, 17) == 1);
}

TEST_CASE("beam: without a forced EOS, hypotheses end at the length limit as they are") {
  const DecodeOptions options{
      .beam_size = 2, .length_penalty = 1, .stop = StopRule::present_length, .n_best = 2, .forces_eos = false};
  Beam beam(options, 2, 0);
  beam.advance(next_of(row(-9, -0.5, -1)));
  number_rows(beam);
  beam.advance(next_of(rows({row(-0.25, -2, -9), row(-9, -9, -0.25)})));
  REQUIRE(beam.live().empty());
  const auto& finished = beam.finished();
  REQUIRE(finished.size() == 2);
  CHECK(finished[0].ids == std::vector<int32_t>{3});  // and EOS
  CHECK(finished[0].score == doctest::Approx(-0.375));
  CHECK(finished[0].token_log_probs.size() == 2);
  CHECK(finished[1].ids == std::vector<int32_t>{4, 4});
  CHECK(finished[1].score == doctest::Approx(-0.625));
  CHECK(finished[1].token_log_probs.size() == 2);
}

TEST_CASE("beam: scores count the EOS, and the form of the length penalty decides the order") {
  DecodeOptions options{.beam_size = 2, .length_penalty = 1, .n_best = 2};
  const auto search = [&] {
    Beam beam(options, 10, 0);
    beam.advance(next_of(row(-1, -0.5, -9)));  // EOS: finished with -1, |Y| = 1; "3" is live with -0.5
    number_rows(beam);
    if (!beam.live().empty()) beam.advance(next_of(rows({row(-0.75, -9, -9), row(-9, -9, -9)})));  // -1.25, |Y| = 2
    return beam.finished();
  };
  auto finished = search();
  REQUIRE(finished.size() == 2);
  CHECK(finished[0].ids == std::vector<int32_t>{3});
  CHECK(finished[0].log_probability == doctest::Approx(-1.25));
  CHECK(finished[0].score == doctest::Approx(-0.625));
  CHECK(finished[0].token_log_probs == std::vector<float>{-0.5F, -0.75F});
  CHECK(finished[1].ids.empty());
  CHECK(finished[1].score == doctest::Approx(-1));

  options.length_penalty = 0;  // the shorter hypothesis is first
  finished = search();
  CHECK(finished[0].ids.empty());

  options.length_penalty = 1;  // -1.25 / (7/6) = -1.0714 against -1 / (6/6)
  options.form = LengthPenaltyForm::gnmt;
  finished = search();
  REQUIRE(finished.size() == 2);
  CHECK(finished[0].ids.empty());
  CHECK(finished[1].score == doctest::Approx(-1.25 * 6 / 7));
}

TEST_CASE("beam: stops at beam_size finished hypotheses, or when no live one can improve the result") {
  // The first hypothesis to finish has a low score; a better one finishes a step later.
  const auto search = [](DecodeOptions options) {
    Beam beam(options, 10, 0);
    beam.advance(next_of(row(-2, -0.1, -9)));
    int steps = 1;
    for (; !beam.live().empty() && steps < 12; ++steps) {
      number_rows(beam);
      std::vector<float> log_probs;
      for (size_t i = 0; i < beam.live().size(); ++i)
        for (float x : row(steps == 1 ? -0.1 : -5, -3, -3)) log_probs.push_back(x);
      beam.advance(next_of(log_probs));
    }
    return std::pair(beam.finished().front().ids, steps);
  };
  // Beam size 1: EOS is only second best in the first step, so it does not count. The result is "3 EOS".
  CHECK(search({.beam_size = 1, .length_penalty = 0}) == std::pair(std::vector<int32_t>{3}, 2));
  // No length penalty: -0.2 is the best score, and no live hypothesis can exceed it, with either rule.
  CHECK(search({.beam_size = 2, .length_penalty = 0, .stop = StopRule::exact}) ==
        std::pair(std::vector<int32_t>{3}, 2));
  // With a strong penalty, longer hypotheses can still win, so the exact rule continues.
  CHECK(search({.beam_size = 2, .length_penalty = 2, .stop = StopRule::beam_finished}).second == 2);
  CHECK(search({.beam_size = 2, .length_penalty = 2, .stop = StopRule::exact}).second > 2);
}

TEST_CASE("beam: every hypothesis ends at the length limit") {
  DecodeOptions options{.beam_size = 2, .n_best = 2};
  Beam beam(options, 1, 0);
  beam.advance(next_of(row(-9, -0.1, -0.2)));
  REQUIRE(beam.live().size() == 2);
  number_rows(beam);
  beam.advance(next_of(rows({row(-7, -0.1, -0.2), row(-6, -0.1, -0.2)})));
  CHECK(beam.live().empty());
  REQUIRE(beam.finished().size() == 2);
  CHECK(beam.finished()[0].ids == std::vector<int32_t>{4});
  CHECK(beam.finished()[1].ids == std::vector<int32_t>{3});
}

TEST_CASE("beam: a NaN log-probability throws") {
  DecodeOptions options;
  Beam beam(options, 5, 0);
  const std::vector<float> bad(5, std::nanf(""));
  CHECK_THROWS_WITH_AS(beam.advance(next_of(bad)), "[beam search] expected log-probabilities, got NaN after 0 tokens",
                       Error);
}

}  // namespace gyre

namespace gyre {

// Compares the selection from random candidates, with many ties, with a stable sort of all of them.
TEST_CASE("candidates: selects the best, with ties in the order of offers") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, 0);
    const int limit = 1 + int(random.below(12)), n = 1 + int(random.below(300));
    std::vector<Candidate> all;
    BestCandidates best(limit);
    for (int i = 0; i < n; ++i) {
      const float log_prob = -0.25F * float(random.below(40));
      all.push_back({double(log_prob) - 0.5 * double(random.below(6)), i / 100, i, log_prob});
      best.offer(all.back());
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
    REQUIRE(best.best().size() == std::min(all.size(), size_t(limit)));
    for (size_t i = 0; i < best.best().size(); ++i) {
      CHECK(best.best()[i].total == all[i].total);
      CHECK(best.best()[i].hypothesis == all[i].hypothesis);
      CHECK(best.best()[i].token == all[i].token);
      CHECK(best.best()[i].log_prob == all[i].log_prob);
    }
  }
}

TEST_CASE("candidates: rejects tokens of probability 0 and NaN") {
  const double infinity = std::numeric_limits<double>::infinity();
  BestCandidates best(4);
  for (const double total : {-infinity, std::nan(""), -2.0, -infinity, -1.0}) best.offer({total, 0, 7, float(total)});
  REQUIRE(best.best().size() == 2);
  CHECK(best.best()[0].total == -1);
  CHECK(best.best()[1].total == -2);
}

}  // namespace gyre
