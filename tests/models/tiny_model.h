// Fixtures of the tests of models/: a tiny encoder-decoder, batches for it, and a gradient check for any model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gyre/models/decode/beam_search.h"
#include "gyre/models/encoder_decoder.h"
#include "tests/errors.h"

namespace gyre::test {

inline constexpr int32_t kBos = 1, kEos = 2;

using Sentences = std::vector<std::vector<int32_t>>;  // ids without BOS and EOS

// A position config whose clips, buckets and tables are so small that short sentences reach their limits.
PositionConfig tiny_position(const std::string& encoding);

EncoderDecoderConfig tiny_config(const std::string& position = "rope", NormPlacement norm = NormPlacement::pre);

// `count` sentences of 0 to `longest` tokens with ids from 3 to vocab_size - 1.
Sentences random_sentences(int count, int longest, int64_t vocab_size, uint64_t seed);

Sentences with_eos(Sentences sentences);

// Random sentences of up to 8 tokens for tiny_config(), with EOS.
Sentences random_sources(int count, uint64_t seed);

PairInput make_batch(const Sentences& sources, const Sentences& targets);

// log P of every next token with teacher forcing: (target tokens, vocab).
Tensor teacher_forced(const EncoderDecoder& model, const Sentences& sources, const Sentences& targets);

// log P(target, EOS | source).
double sentence_log_probability(const EncoderDecoder& model, const std::vector<int32_t>& source,
                                const std::vector<int32_t>& target);

// Checks that two searches found the same hypotheses, with scores that differ by at most this share.
void check_same(const std::vector<std::vector<Hypothesis>>& a, const std::vector<std::vector<Hypothesis>>& b,
                double tolerance = 1e-4);

// Allocates parameters with larger random values than the model's initialization, so that output distributions are far
// from uniform.
void allocate_nonzero(Parameters& parameters, uint64_t seed, DType dtype = DType::f32);
EncoderDecoder nonzero_model(const EncoderDecoderConfig& config, uint64_t seed);

// The message of the error of the config, or "no error".
template <class Config>
std::string validation_error(const Config& config) {
  return error_of([&] { config.validate(); });
}

// Compares sampled gradient entries of every trainable parameter (f64) with central differences of the loss. Dropout
// has a fixed seed.
void check_gradients(Parameters& parameters, const std::function<LossResult(Tape&)>& loss);

}  // namespace gyre::test
