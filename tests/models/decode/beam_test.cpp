#include <doctest/doctest.h>

#include <cmath>

#include "gyre/models/decode/beam_search.h"

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
