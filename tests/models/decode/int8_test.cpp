// Decoding with products in int8, and packed weights that calls share.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gyre/models/decode/generate.h"
#include "gyre/models/decode/translate.h"
#include "tests/errors.h"
#include "tests/models/tiny_encoder.h"
#include "tests/models/tiny_model.h"

namespace gyre {

using test::Sentences;

namespace {

EncoderDecoder translator() { return test::nonzero_model(test::tiny_config(), 3); }

std::unique_ptr<EncoderOnly> language_model() {
  EncoderOnlyConfig config = test::tiny_encoder("rope", NormPlacement::pre, /*output_bias=*/true);
  config.causal = true;
  auto model = std::make_unique<EncoderOnly>(config);
  test::allocate_nonzero(model->parameters(), 5);
  return model;
}

DecodeOptions in_precision(Precision precision) {
  return {.beam_size = 3, .n_best = 2, .precision = precision, .bos = test::kBos, .eos = test::kEos};
}

using Results = std::vector<std::vector<Hypothesis>>;

bool same(const Results& a, const Results& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return std::ranges::equal(x, y, [](const Hypothesis& p, const Hypothesis& q) {
      return p.ids == q.ids && p.token_log_probs == q.token_log_probs;
    });
  });
}

// log P of the target's tokens, computed on a tape in this precision.
std::vector<float> target_log_probs(const EncoderDecoder& model, const PairInput& batch, Precision precision) {
  const auto packed = precision == Precision::int8 ? packed_weights_for(cpu_kernels(), precision) : nullptr;
  Tape tape(cpu_kernels(), {.record = false, .precision = precision, .packed = packed.get()});
  const Var encoded = model.encode(tape, batch.source_ids, batch.source);
  const Var states = model.decode(tape, encoded, batch.source, batch.target_inputs, batch.target);
  const Tensor log_probs = Tensor::empty({states.shape()[0], model.config().vocab_size});
  model.log_probabilities(log_probs, states);
  return log_probs.to_vector<float>();
}

// Checks the log-probabilities of the tokens that continue a prompt, and of EOS if there is one more, against a pass of
// the whole text in int8.
void check_log_probs(const EncoderOnly& model, PackedWeights& packed, const Prompt& prompt,
                     std::vector<int32_t> continuation, const std::vector<float>& actual) {
  if (actual.size() > continuation.size()) continuation.push_back(test::kEos);
  REQUIRE_FALSE(continuation.empty());
  REQUIRE(actual.size() == continuation.size());
  std::vector<int32_t> ids = prompt.ids;
  ids.insert(ids.end(), continuation.begin(), continuation.end());
  Tape tape(cpu_kernels(), {.record = false, .precision = Precision::int8, .packed = &packed});
  const Tensor all = Tensor::from({int64_t(ids.size())}, ids);
  const Tensor log_probs = model.logits(model.encode(tape, all, Segments::from_lengths({int32_t(ids.size())}))).value();
  cpu_kernels().log_softmax(log_probs, log_probs);
  for (size_t t = 0; t < continuation.size(); ++t) {
    const auto row = int64_t(prompt.ids.size() + t) - 1;
    CHECK(actual[t] ==
          doctest::Approx(log_probs.data<float>()[row * log_probs.cols() + continuation[t]]).epsilon(0.02));
  }
}

}  // namespace

TEST_CASE("int8 rounds products, but not by much") {
  const EncoderDecoder model = translator();
  const PairInput batch = test::make_batch(test::random_sentences(8, 8, 11, 1), test::random_sentences(8, 8, 11, 2));
  const std::vector<float> exact = target_log_probs(model, batch, Precision::fp32);
  const std::vector<float> rounded = target_log_probs(model, batch, Precision::int8);
  double difference = 0, size = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(double(exact[i]) - double(rounded[i]), 2);
    size += std::pow(double(exact[i]), 2);
  }
  CHECK(difference > 0);
  CHECK(std::sqrt(difference / size) < 0.1);
}

TEST_CASE("int8 translations do not depend on batches or on who packs the weights") {
  const EncoderDecoder model = translator();
  const Sentences sources = test::random_sources(9, 4);
  for (const Precision precision : {Precision::fp32, Precision::int8}) {
    DecodeOptions options = in_precision(precision);
    const Results whole = beam_search(model, cpu_kernels(), sources, options);
    options.packed = packed_weights_for(cpu_kernels(), precision);
    for (int i = 0; i < 2; ++i) CHECK(same(beam_search(model, cpu_kernels(), sources, options), whole));
    CHECK(same(translate(model, cpu_kernels(), sources, options, {.sentences = 2}), whole));
  }
}

TEST_CASE("an ensemble of int8 models, and samples from one") {
  const EncoderDecoder model = translator();
  const Sentences sources = test::random_sources(4, 4);
  const DecodeOptions options = in_precision(Precision::int8);
  const Results alone = beam_search(model, cpu_kernels(), sources, options);
  const Results twice = beam_search(Ensemble({&model, &model}), cpu_kernels(), sources, options);
  for (size_t i = 0; i < alone.size(); ++i) {
    CHECK(alone[i][0].ids == twice[i][0].ids);
    CHECK(alone[i][0].log_probability == doctest::Approx(twice[i][0].log_probability).epsilon(1e-4));
  }
  const SamplingOptions sampling{.samples = 2};
  DecodeOptions one = options;
  one.n_best = 1;
  CHECK(same(sample(model, cpu_kernels(), sources, {0, 1, 2, 3}, one, sampling),
             sample_translations(model, cpu_kernels(), sources, {0, 1, 2, 3}, one, sampling, {.sentences = 1})));
}

TEST_CASE("weights in int8 take a quarter of the bytes") {
  const auto model = language_model();
  const std::vector<Prompt> prompts{{{4, 7, 3}, 0, 6}};
  GenerationOptions options{.precision = Precision::int8};
  options.packed = packed_weights_for(cpu_kernels(), Precision::int8);
  const Generation narrow(*model, cpu_kernels(), prompts, options), wide(*model, cpu_kernels(), prompts, {});
  CHECK(4 * narrow.weight_bytes() == wide.weight_bytes());
}

TEST_CASE("beam search continues texts in int8 as a whole pass in int8 scores them") {
  const auto model = language_model();
  const std::vector<Prompt> prompts{{{4, 7, 3}, 0, 6}, {{5}, 0, 9}};
  DecodeOptions options = in_precision(Precision::int8);
  options.packed = packed_weights_for(cpu_kernels(), Precision::int8);
  const Results found = search_continuations(*model, cpu_kernels(), prompts, options);
  REQUIRE(found.size() == prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    REQUIRE(found[i].size() == 2);
    for (const Hypothesis& h : found[i]) check_log_probs(*model, *options.packed, prompts[i], h.ids, h.token_log_probs);
  }
  options.packed = nullptr;
  CHECK(same(search_continuations(*model, cpu_kernels(), prompts, options), found));
}

TEST_CASE("tapes check their packed weights") {
  Kernels& kernels = cpu_kernels();
  PackedWeights packed(kernels, Precision::int8);
  CHECK(contains(error_of([&] { Tape(kernels, {.record = false, .precision = Precision::int8}); }),
                 "int8 needs packed weights"));
  CHECK(contains(error_of([&] { Tape(kernels, {.precision = Precision::int8, .packed = &packed}); }),
                 "no packed weights for a tape that records"));
  CHECK(contains(error_of([&] { Tape(kernels, {.record = false, .packed = &packed}); }),
                 "expected packed weights in the tape's precision"));
}

}  // namespace gyre
