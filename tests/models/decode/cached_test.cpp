// Decoding with a cache gives the log-probabilities of a pass over the whole text, for every kind of causal model.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gyre/models/decode/generate.h"
#include "tests/errors.h"
#include "tests/models/tiny_encoder.h"

namespace gyre {
namespace {

using Ids = std::vector<int32_t>;

// Sizes that are multiples of 8 elements, so that bf16 copies of all parameters are used.
std::vector<EncoderOnlyConfig> families() {
  std::vector<EncoderOnlyConfig> all = test::tiny_decoders();
  for (EncoderOnlyConfig& config : all) {
    config.vocab_size = 24;
    config.dim = 16;
    config.ffn = 24;
    if (config.head_dim > 0) config.head_dim = 12;
  }
  all[4].output_bias = true;
  return all;
}

std::vector<AttentionConfig> attentions() {
  std::vector<AttentionConfig> all{{.kind = AttentionKind::softmax},
                                   {.kind = AttentionKind::window, .window = 1},
                                   {.kind = AttentionKind::window, .window = 4}};
  for (const FeatureMap map : {FeatureMap::elu, FeatureMap::relu, FeatureMap::softmax, FeatureMap::favor})
    all.push_back({.kind = AttentionKind::linear, .linear_map = map});
  return all;
}

// log P of the tokens of the text from `first` on, from one pass over the text.
std::vector<float> whole_log_probs(const EncoderOnly& model, const Ids& ids, size_t first, Precision precision,
                                   PackedWeights* packed) {
  Tape tape(cpu_kernels(), {.record = false, .precision = precision, .packed = packed});
  const Var states = model.encode(tape, test::ids_of(ids), Segments::from_lengths({int32_t(ids.size())}));
  const Tensor log_probs = model.logits(states).value().to(DType::f32);
  cpu_kernels().log_softmax(log_probs, log_probs);
  std::vector<float> result;
  for (size_t i = first; i < ids.size(); ++i)
    result.push_back(log_probs.data<float>()[int64_t(i - 1) * log_probs.cols() + ids[i]]);
  return result;
}

// The largest difference between decoding and whole texts, for a prompt that is longer than the window and a short one.
double worst_difference(const EncoderOnly& model, Precision precision) {
  const auto packed = precision == Precision::int8 ? packed_weights_for(cpu_kernels(), precision) : nullptr;
  const std::vector<Prompt> prompts{{{4, 7, 3, 9, 6, 12}, 0, 20}, {{5}, 1, 18}};
  GenerationOptions options{.temperature = 1, .seed = 4, .eos = -1};
  options.precision = precision;
  options.packed = packed;
  Generation generation(model, cpu_kernels(), prompts, options);
  while (!generation.done()) generation.step();
  double worst = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Generation::Text& text = generation.texts()[i];
    REQUIRE(int(text.ids.size()) == prompts[i].max_tokens);
    Ids ids = prompts[i].ids;
    ids.insert(ids.end(), text.ids.begin(), text.ids.end());
    const std::vector<float> expected = whole_log_probs(model, ids, prompts[i].ids.size(), precision, packed.get());
    for (size_t t = 0; t < expected.size(); ++t)
      worst = std::max(worst, double(std::abs(expected[t] - text.log_probs[t])));
  }
  return worst;
}

}  // namespace

TEST_CASE("cached decoding: every family, position encoding, attention and precision") {
  const test::OneThread one_thread;
  int decoded = 0, refused = 0;
  for (EncoderOnlyConfig config : families()) {
    for (const std::string& position : position_encoding_names()) {
      config.position = test::tiny_position(position);
      for (const AttentionConfig& attention : attentions()) {
        config.attention = attention;
        CAPTURE(config.to_json().dump());
        if (const std::string reason = test::validation_error(config); !reason.empty()) {
          const bool names_the_cause = attention.kind == AttentionKind::linear
                                           ? reason.starts_with("[attention] linear ")
                                           : reason.starts_with("[head_dim] with " + position);
          CHECK_MESSAGE(names_the_cause, reason);
          ++refused;
          continue;
        }
        EncoderOnly model(config);
        test::allocate_nonzero(model.parameters(), 5);
        CHECK(worst_difference(model, Precision::fp32) < 1e-5);
        // Logits below 2, which bf16 rounds by less than 0.004.
        for (Parameter& p : model.parameters())
          if (p.shape.rank() == 2) cpu_kernels().scale(p.value, p.value, 0.25);
        CHECK(worst_difference(model, Precision::bf16) < 0.02);
        CHECK(worst_difference(model, Precision::int8) < 0.02);
        ++decoded;
      }
    }
  }
  CHECK(decoded == 276);
  CHECK(refused == 312);
}

}  // namespace gyre
