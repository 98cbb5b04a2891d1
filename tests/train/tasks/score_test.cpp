#include <doctest/doctest.h>

#include <cmath>

#include "gyre/train/tasks/translation/decoding.h"
#include "tests/models/tiny_model.h"

namespace gyre {

using test::nonzero_model;
using test::Sentences;

TEST_CASE("scores are the sums of teacher-forced log-probabilities, in the order of the input") {
  const Sentences sources = test::random_sentences(15, 9, 11, 1), targets = test::random_sentences(15, 9, 11, 2);
  for (const char* position : {"rope", "learned"}) {
    const EncoderDecoder model = nonzero_model(test::tiny_config(position), 3);
    const DecodeOptions options{.length_penalty = 0.7, .form = LengthPenaltyForm::gnmt};
    for (const DecodingBatchLimits& limits :
         {DecodingBatchLimits{}, {.sentences = 4, .tokens = 30}, {.sentences = 1}}) {
      std::vector<size_t> done;
      const auto scores =
          score_targets(model, cpu_kernels(), sources, targets, options, limits, [&](size_t n) { done.push_back(n); });
      CHECK(done.back() == sources.size());
      REQUIRE(scores.size() == sources.size());
      for (size_t i = 0; i < sources.size(); ++i) {
        const double expected = test::sentence_log_probability(model, sources[i], targets[i]);
        CHECK(scores[i].ids == targets[i]);
        CHECK(scores[i].token_log_probs.size() == targets[i].size() + 1);
        CHECK(scores[i].log_probability == doctest::Approx(expected).epsilon(1e-5));
        CHECK(scores[i].score ==
              doctest::Approx(expected / std::pow((6.0 + double(targets[i].size())) / 6, 0.7)).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("scores of translations equal those of beam search, alone and in an ensemble") {
  const EncoderDecoder first = nonzero_model(test::tiny_config("rope"), 3),
                       second = nonzero_model(test::tiny_config("sinusoidal"), 4);
  const Sentences sources = test::random_sentences(6, 8, 11, 1);
  const DecodeOptions options{.beam_size = 4, .max_length_extra = 8, .n_best = 4};
  const Ensemble ensembles[] = {Ensemble(first), Ensemble({&first, &second}),
                                Ensemble({&first, &second}, {2, 1}, EnsembleMean::log_probabilities)};
  for (const Ensemble& ensemble : ensembles) {
    Sentences repeated, targets;
    std::vector<Hypothesis> expected;
    const auto results = translate(ensemble, cpu_kernels(), test::with_eos(sources), options);
    for (size_t i = 0; i < sources.size(); ++i)
      for (const Hypothesis& h : results[i]) {
        repeated.push_back(sources[i]);
        targets.push_back(h.ids);
        expected.push_back(h);
      }
    const auto scores = score_targets(ensemble, cpu_kernels(), repeated, targets, options);
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(scores[i].score == doctest::Approx(expected[i].score).epsilon(1e-4));
      CHECK(scores[i].log_probability == doctest::Approx(expected[i].log_probability).epsilon(1e-4));
      for (size_t t = 0; t < expected[i].token_log_probs.size(); ++t)
        CHECK(scores[i].token_log_probs[t] == doctest::Approx(expected[i].token_log_probs[t]).epsilon(1e-4));
    }
  }
}

// The sum is that of the loss in validation. With 200,000 pieces, the logits of 100 tokens take two parts.
TEST_CASE("the sum of the scores is the cross-entropy, also of a vocabulary whose logits are computed in parts") {
  EncoderDecoderConfig config = test::tiny_config();
  config.vocab_size = 200'000;
  EncoderDecoder model(config);
  model.parameters().allocate(5);
  const Sentences sources = test::random_sentences(10, 12, config.vocab_size, 1);
  Sentences targets = test::random_sentences(10, 12, config.vocab_size, 2);
  for (Sentences::value_type& target : targets) target.resize(11, 7);
  Tape tape(cpu_kernels(), {.record = false});
  const LossResult loss = model.loss(tape, test::make_batch(sources, targets), 0);
  REQUIRE(loss.predictions == 120);
  double sum = 0;
  for (const Hypothesis& h : score_targets(model, cpu_kernels(), sources, targets, {})) sum += h.log_probability;
  CHECK(-sum == doctest::Approx(loss.sums().nll).epsilon(1e-6));
}

TEST_CASE("scores: invalid pairs throw") {
  const EncoderDecoder model = nonzero_model(test::tiny_config("learned"), 4);
  const auto score = [&](const Sentences& sources, const Sentences& targets) {
    return score_targets(model, cpu_kernels(), sources, targets, {});
  };
  CHECK(score({}, {}).empty());
  CHECK_THROWS_WITH_AS(score({{3}}, {}), "[score] expected a target for each of 1 sources, got 0", Error);
  CHECK_THROWS_WITH_AS(score({{}, {}}, {{3}, std::vector<int32_t>(40, 3)}),
                       "[score] pair 1: expected at most 40 tokens with EOS, got 41", Error);
  CHECK_THROWS_WITH_AS(score({std::vector<int32_t>(40, 3)}, {{}}),
                       "[score] pair 0: expected at most 40 tokens with EOS, got 41", Error);
}

}  // namespace gyre
