#include "gyre/models/decode/ensemble.h"

#include <doctest/doctest.h>

#include <cmath>

#include "gyre/models/decode/translate.h"
#include "tests/models/tiny_model.h"

namespace gyre {

using test::nonzero_model;
using test::random_sources;
using test::Sentences;

namespace {

// A model of another size and another position encoding.
EncoderDecoderConfig other_config() {
  EncoderDecoderConfig config = test::tiny_config("sinusoidal", NormPlacement::post);
  config.dim *= 2;
  config.decoder_layers = 1;
  return config;
}

// log P of a hypothesis in double precision from the teacher-forced distributions of the models.
double expected_log_probability(const Ensemble& ensemble, const std::vector<int32_t>& source, const Hypothesis& h) {
  std::vector<int32_t> outputs = h.ids;
  outputs.push_back(test::kEos);
  std::vector<Tensor> log_probs;
  for (size_t i = 0; i < ensemble.size(); ++i)
    log_probs.push_back(test::teacher_forced(ensemble[i], {source}, {h.ids}));
  double total = 0;
  for (size_t t = 0; t < outputs.size(); ++t) {
    double sum = 0;
    for (size_t i = 0; i < ensemble.size(); ++i) {
      const double x = log_probs[i].data<float>()[int64_t(t) * ensemble.vocab_size() + outputs[t]];
      sum += ensemble.weight(i) * (ensemble.mean() == EnsembleMean::probabilities ? std::exp(x) : x);
    }
    total += ensemble.mean() == EnsembleMean::probabilities ? std::log(sum) : sum;
  }
  return total;
}

}  // namespace

TEST_CASE("an ensemble of a model with itself equals the model") {
  const EncoderDecoder model = nonzero_model(test::tiny_config(), 3);
  const Sentences sources = random_sources(9, 5);
  const DecodeOptions options{.beam_size = 3, .max_length_extra = 10, .n_best = 3};
  const auto alone = translate(model, cpu_kernels(), sources, options);
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities}) {
    const Ensemble ensemble({&model, &model, &model}, {}, mean);
    test::check_same(translate(ensemble, cpu_kernels(), sources, options), alone, 1e-5);
  }
}

TEST_CASE("ensembles of different models search for the mean of their distributions") {
  const EncoderDecoder first = nonzero_model(test::tiny_config("rope"), 3), second = nonzero_model(other_config(), 4);
  const Sentences sources = random_sources(5, 5);
  const DecodeOptions options{.beam_size = 4, .max_length_extra = 10, .n_best = 4};
  const std::vector<double> given[] = {{}, {3, 1}};
  bool differs = false;
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities}) {
    for (const std::vector<double>& weights : given) {
      const Ensemble ensemble({&first, &second}, weights, mean);
      CHECK(ensemble.weight(0) == (weights.empty() ? 0.5 : 0.75));
      const auto results = translate(ensemble, cpu_kernels(), sources, options, {.sentences = 2});
      const auto alone = translate(first, cpu_kernels(), sources, options);
      for (size_t i = 0; i < sources.size(); ++i) {
        const std::vector<int32_t> source(sources[i].begin(), sources[i].end() - 1);
        for (const Hypothesis& h : results[i])
          CHECK(h.log_probability == doctest::Approx(expected_log_probability(ensemble, source, h)).epsilon(1e-4));
        differs = differs || results[i].front().ids != alone[i].front().ids;
      }
    }
  }
  CHECK(differs);
}

TEST_CASE("a nearly weightless model changes nothing") {
  const EncoderDecoder first = nonzero_model(test::tiny_config("rope"), 3), second = nonzero_model(other_config(), 4);
  const Sentences sources = random_sources(5, 5);
  const DecodeOptions options{.max_length_extra = 10};
  const auto alone = translate(first, cpu_kernels(), sources, options);
  const auto together = translate(Ensemble({&first, &second}, {1, 1e-9}), cpu_kernels(), sources, options);
  for (size_t i = 0; i < sources.size(); ++i) CHECK(together[i].front().ids == alone[i].front().ids);
}

// The logits are so large that the probabilities of all tokens except the best round to 0 in fp32.
TEST_CASE("a token that every model excludes has a finite log-probability") {
  EncoderDecoder model = nonzero_model(test::tiny_config(), 3);
  for (Parameter& p : model.parameters())
    if (p.name.find("embed_tokens") != std::string::npos || p.name.find("output_projection") != std::string::npos)
      for (float& x : p.value.span<float>()) x *= 300;
  const DecodeOptions options{.beam_size = 1, .max_length_factor = 0, .max_length_extra = 0};
  const Ensemble ensemble({&model, &model});
  for (const Sentences& source : {Sentences{{3, 2}}, Sentences{{4, 5, 2}}}) {
    const auto found = beam_search(ensemble, cpu_kernels(), source, options).front();
    REQUIRE(found.size() == 1);  // the length limit forces EOS
    CHECK(std::isfinite(found.front().log_probability));
    CHECK(found.front().log_probability >= std::log(1e-38) - 1e-3);
  }
}

TEST_CASE("ensembles: invalid models and weights throw") {
  EncoderDecoderConfig larger = test::tiny_config();
  larger.vocab_size = 12;
  const EncoderDecoder model = nonzero_model(test::tiny_config(), 3), other = nonzero_model(larger, 3);
  CHECK_THROWS_WITH_AS(Ensemble(std::vector<const EncoderDecoder*>{}), "[ensemble] expected at least one model", Error);
  CHECK_THROWS_WITH_AS(Ensemble({&model, &other}), "[ensemble] expected models of one vocabulary, got 11 and 12 pieces",
                       Error);
  CHECK_THROWS_WITH_AS(Ensemble({&model, &model}, {1}), "[ensemble] expected a weight for each of 2 models, got 1",
                       Error);
  CHECK_THROWS_WITH_AS(Ensemble({&model, &model}, {1, 0}), "[ensemble] expected positive weights, got 0", Error);
  CHECK_THROWS_WITH_AS(Ensemble({&model, &model}, {1e308, 1e308}),
                       "[ensemble] expected weights with a finite sum, got inf", Error);
  CHECK_THROWS_AS(Ensemble({&model}, {std::nan("")}), Error);
}

}  // namespace gyre
