// A tiny encoder-decoder, batches for it, and checks of any model, for the tests of models/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/encoder_decoder.h"

namespace gyre::tests {

inline constexpr int32_t kBos = 1, kEos = 2;

using Sentences = std::vector<std::vector<int32_t>>;  // without BOS and EOS

// Clips, buckets and tables that short sentences fill.
PositionConfig tiny_position(const std::string& encoding);

EncoderDecoderConfig tiny_config(const std::string& position = "rope", NormPlacement norm = NormPlacement::pre);

// `count` sentences of 0 to longest tokens, ids from 3 on.
Sentences random_sentences(int count, int longest, int64_t vocab_size, uint64_t seed);

Sentences with_eos(Sentences sentences);

PairInput make_batch(const Sentences& sources, const Sentences& targets);

// log P of every next token with teacher forcing: (target tokens, vocab).
Tensor teacher_forced(const EncoderDecoder& model, const Sentences& sources, const Sentences& targets);

// log P(target, EOS | source).
double sentence_log_probability(const EncoderDecoder& model, const std::vector<int32_t>& source,
                                const std::vector<int32_t>& target);

// One thread for the test that holds it: thousands of tiny models run fast on a busy machine too.
class OneThread {
 public:
  OneThread() { set_threads(1); }
  ~OneThread() { set_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = threads();
};

// Fills a model's values, wider than its own initial ones: distributions are far from uniform.
void allocate_lively(Parameters& parameters, uint64_t seed, DType dtype = DType::f32);

// Sampled entries of every trainable parameter (f64) against central differences of the loss, with dropout of a fixed
// seed.
void check_gradients(Parameters& parameters, const std::function<LossResult(Tape&)>& loss);

}  // namespace gyre::tests
