// Tests that whole models whose ops all run their composed definitions agree with those that run kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "gyre/models/position/rope.h"
#include "tests/autograd/op_run.h"
#include "tests/models/tiny_encoder.h"

namespace gyre {
namespace {

using test::kSentences;

constexpr double kDropout = 0.2;

// Results of a training tape with all dropout, whose masks composed and fused tapes draw in the same order.
struct TrainingPass {
  Tensor logits, gradients;
  double loss = 0;
};

using LogitsOnTape = std::function<Var(Tape&)>;
using LossOnTape = std::function<LossResult(Tape&)>;

TrainingPass training_pass(Parameters& parameters, const LogitsOnTape& logits, const LossOnTape& loss, bool composed) {
  const Tape::Options options{
      .training = true, .seed = 3, .loss_seeded = true, .parameters = &parameters, .composed = composed};
  TrainingPass pass;
  Tape forward(cpu_kernels(), options), both(cpu_kernels(), options);
  pass.logits = logits(forward).value().clone();
  parameters.gradients().zero();
  const LossResult result = loss(both);
  both.backward(result.loss);
  pass.loss = result.sums().loss;
  pass.gradients = parameters.gradients().clone();
  return pass;
}

void check_composed(Parameters& parameters, const LogitsOnTape& logits, const LossOnTape& loss) {
  test::allocate_nonzero(parameters, 5);
  const TrainingPass expected = training_pass(parameters, logits, loss, false);
  const TrainingPass actual = training_pass(parameters, logits, loss, true);
  CHECK_GT(largest_magnitude({expected.gradients}), 1e-3);
  CHECK(actual.loss == doctest::Approx(expected.loss).epsilon(1e-5));
  CHECK_LE(relative_error(actual.logits, expected.logits), 1e-4);
  CHECK_LE(relative_error(actual.gradients, expected.gradients), 5e-4);
}

void check_composed(EncoderOnlyConfig config) {
  config.dropout = config.activation_dropout = kDropout;
  config.attention_dropout = config.attention.kind == AttentionKind::linear ? 0 : kDropout;
  CAPTURE(config.describe());
  EncoderOnly model(config);
  const MaskedInput batch = test::masked_batch(kSentences);
  check_composed(
      model.parameters(), [&](Tape& tape) { return model.logits(model.encode(tape, batch.ids, batch.segments)); },
      [&](Tape& tape) { return model.loss(tape, batch); });
}

void check_composed(EncoderDecoderConfig config) {
  config.dropout = config.activation_dropout = config.attention_dropout = kDropout;
  CAPTURE(config.describe());
  EncoderDecoder model(config);
  const PairInput batch = test::make_batch(kSentences, {{6, 3, 8}, {9, 4, 10, 5, 7}, {}});
  const auto logits = [&](Tape& tape) {
    const Var encoded = model.encode(tape, batch.source_ids, batch.source);
    return model.logits(model.decode(tape, encoded, batch.source, batch.target_inputs, batch.target));
  };
  check_composed(model.parameters(), logits, [&](Tape& tape) { return model.loss(tape, batch, 0.1); });
  check_composed(model.parameters(), logits, [&](Tape& tape) { return model.r_drop_loss(tape, batch, 0.1, 2); });
}

// The preset's options, with sizes of which a test can run many.
EncoderOnlyConfig tiny_preset(const std::string& name) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(name);
  config.vocab_size = 11;
  config.dim = 16;
  config.ffn = 12;
  config.heads = config.layers = 2;
  config.kv_heads = std::min<int64_t>(config.kv_heads, 1);
  int64_t& rotary_dims = config.position.get<RopeOptions>().rotary_dims;
  rotary_dims = std::min<int64_t>(rotary_dims, 4);
  return config;
}

}  // namespace

TEST_CASE("composed encoder-decoders agree with fused ones, with every position encoding") {
  const ThreadsInScope one_thread(1);
  for (const NormPlacement norm : {NormPlacement::pre, NormPlacement::post})
    for (const std::string& position : position_encoding_names()) check_composed(test::tiny_config(position, norm));
  EncoderDecoderConfig rope = test::tiny_config("rope", NormPlacement::post);
  RopeOptions& options = rope.position.get<RopeOptions>();
  options.rotate_cross = options.rotate_values = true;
  options.scaling = RopeScaling::yarn;  // with a magnitude
  options.scaling_factor = 4;
  options.original_length = 16;
  options.step = 0.5;
  for (const RotaryPairs pairs : {RotaryPairs::interleaved, RotaryPairs::half_split}) {
    options.pairs = pairs;
    for (const bool learnable : {false, true}) {
      options.learnable = learnable;
      check_composed(rope);
    }
  }
}

TEST_CASE("composed encoders and decoders agree with fused ones, with every position encoding and attention") {
  const ThreadsInScope one_thread(1);
  for (const bool causal : {false, true}) {
    for (const std::string& position : position_encoding_names()) {
      EncoderOnlyConfig config = test::tiny_encoder(position);
      config.causal = causal;
      check_composed(config);
      config.attention = {.kind = AttentionKind::window, .window = 3};
      check_composed(config);
      if (position_encoding_type(position).adds_to_scores) continue;
      for (const auto& [map, map_name] : kEnumNames<FeatureMap>) {
        for (const LinearRope place : {LinearRope::post_map, LinearRope::pre_map}) {
          config.attention = {.kind = AttentionKind::linear, .linear_map = map, .linear_rope = place};
          check_composed(config);
        }
      }
    }
  }
}

TEST_CASE("composed models agree with fused ones, with the options of every preset") {
  const ThreadsInScope one_thread(1);
  for (const EncoderOnlyConfig& config : test::tiny_decoders()) check_composed(config);
  for (const std::string& name : EncoderOnlyConfig::preset_names()) {
    CAPTURE(name);
    check_composed(tiny_preset(name));
  }
}

}  // namespace gyre
