#include "gyre/models/encoder_decoder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gyre/models/position/rope.h"
#include "tests/emulated_bf16.h"
#include "tests/models/tiny_model.h"
#include "tests/threads_in_scope.h"

namespace gyre {

using test::Sentences;

static const Sentences kSources = {{4, 7, 3, 9}, {5}, {10, 6, 8}}, kTargets = {{6, 3, 8}, {9, 4, 10, 5, 7}, {}};

// Configs that cover all options of the model, except sizes.
static std::vector<EncoderDecoderConfig> variants() {
  std::vector<EncoderDecoderConfig> all;
  for (NormPlacement norm : {NormPlacement::pre, NormPlacement::post})
    for (const std::string& position : position_encoding_names()) all.push_back(test::tiny_config(position, norm));
  EncoderDecoderConfig untied = test::tiny_config();
  untied.tied_embeddings = untied.tied_output = untied.scale_embedding = untied.final_norm = false;
  untied.activation = Activation::gelu;
  all.push_back(untied);
  EncoderDecoderConfig rope = test::tiny_config("rope", NormPlacement::post);
  RopeOptions& options = rope.position.get<RopeOptions>();
  options.learnable = options.rotate_cross = true;
  options.rotary_dims = 2;
  options.pairs = RotaryPairs::half_split;
  all.push_back(rope);
  return all;
}

TEST_CASE("a packed batch gives the same results as its sentences one by one") {
  for (const EncoderDecoderConfig& config : variants()) {
    CAPTURE(config.position.encoding);
    EncoderDecoder model(config);
    test::allocate_nonzero(model.parameters(), 5);
    const Tensor packed = test::teacher_forced(model, kSources, kTargets);
    int64_t row = 0;
    for (size_t i = 0; i < kSources.size(); ++i) {
      const Tensor alone = test::teacher_forced(model, {kSources[i]}, {kTargets[i]});
      for (int64_t j = 0; j < alone.size(); ++j)
        CHECK(packed.data<float>()[row * packed.cols() + j] == doctest::Approx(alone.data<float>()[j]).epsilon(1e-4));
      row += alone.rows();
    }
    CHECK(row == packed.rows());
  }
}

TEST_CASE("gradients of the whole model's loss") {
  const ThreadsInScope one_thread(1);
  const PairInput batch = test::make_batch(kSources, kTargets);
  for (EncoderDecoderConfig config : variants()) {
    CAPTURE(config.position.encoding);
    config.attention_dropout = config.activation_dropout = 0.1;
    EncoderDecoder model(config);
    test::allocate_nonzero(model.parameters(), 5, DType::f64);
    test::check_gradients(model.parameters(), [&](Tape& tape) { return model.loss(tape, batch, 0.1); });
  }
}

TEST_CASE("R-Drop: every kind of dropout makes the passes differ, and without dropout the loss is the usual one") {
  const PairInput batch = test::make_batch(kSources, kTargets);
  EncoderDecoderConfig plain = test::tiny_config();
  plain.dropout = plain.attention_dropout = plain.activation_dropout = 0;
  const auto losses = [&](const EncoderDecoderConfig& config, double alpha) {
    EncoderDecoder model(config);
    test::allocate_nonzero(model.parameters(), 5, DType::f64);
    Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 3});
    const LossResult twice = model.r_drop_loss(tape, batch, 0.1, alpha);
    CHECK(twice.predictions == batch.target.tokens());
    return std::pair(twice.sums().loss, model.loss(tape, batch, 0.1).sums().loss);
  };
  const auto [twice, once] = losses(plain, 5);
  CHECK(twice == doctest::Approx(once).epsilon(1e-13));
  for (double LayerConfig::*rate :
       {&LayerConfig::dropout, &LayerConfig::attention_dropout, &LayerConfig::activation_dropout}) {
    EncoderDecoderConfig config = plain;
    config.*rate = 0.2;
    CHECK(losses(config, 5).first > losses(config, 0).first + 1e-3);
  }
}

// About sixty roundings separate a bf16 gradient from the fp32 one: those of the result of each op in forward and
// backward. Each has a relative error of at most 2^-8. The errors are independent, so the total grows with the square
// root of their number: sqrt(60) is about 8. This holds for smooth functions, so the test uses gelu: the slope of relu
// can jump. Layer norm magnifies the errors of a row with little variance, which a tiny model has for some initial
// weights: the measured errors are 0.007 to 0.033 and the bound is 0.031. So it holds for the median of three, and
// twice of it for the worst.
TEST_CASE("bf16: losses and gradients of the whole model equal those of fp32 up to rounding") {
  constexpr double kRounding = 0x1p-8, kOfAllRoundings = 8 * kRounding;
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const PairInput batch = test::make_batch(kSources, kTargets);
  for (EncoderDecoderConfig config : variants()) {
    CAPTURE(config.position.encoding);
    config.activation = Activation::gelu;
    EncoderDecoder model(config);
    const auto train = [&](Precision precision) {
      model.parameters().gradients().zero();
      Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 3, .precision = precision});
      const LossResult result = model.loss(tape, batch, 0.1);
      tape.backward(result.loss);
      return std::pair(result.sums().loss, model.parameters().gradients().to_vector<float>());
    };
    std::vector<double> errors;
    for (const uint64_t seed : {5, 6, 7}) {
      model.parameters().allocate(seed);
      const auto [loss, gradient] = train(Precision::fp32);
      const auto [rounded_loss, rounded_gradient] = train(Precision::bf16);
      CHECK_LE(std::abs(rounded_loss - loss), kRounding * loss);
      double difference = 0, norm = 0;
      for (size_t i = 0; i < gradient.size(); ++i) {
        difference += std::pow(double(rounded_gradient[i]) - gradient[i], 2);
        norm += std::pow(double(gradient[i]), 2);
      }
      errors.push_back(std::sqrt(difference / norm));
      REQUIRE(std::isfinite(errors.back()));
    }
    std::sort(errors.begin(), errors.end());
    CHECK_LE(errors[1], kOfAllRoundings);
    CHECK_LE(errors[2], 2 * kOfAllRoundings);
  }
}

TEST_CASE("the decoder is causal and attends only to its own source") {
  for (const EncoderDecoderConfig& config : variants()) {
    EncoderDecoder model(config);
    test::allocate_nonzero(model.parameters(), 5);
    const Tensor before = test::teacher_forced(model, kSources, kTargets);
    Sentences targets = kTargets, sources = kSources;
    targets[1][2] = 3;  // row 4 + 3 is the first that depends on this token
    const auto first_change = [&](const Tensor& after) {
      for (int64_t i = 0; i < before.size(); ++i)
        if (before.data<float>()[i] != after.data<float>()[i]) return i / before.cols();
      return before.rows();
    };
    CHECK(first_change(test::teacher_forced(model, kSources, targets)) == 7);
    sources[1][0] = 6;
    CHECK(first_change(test::teacher_forced(model, sources, kTargets)) == 4);
  }
}

TEST_CASE("word order matters with every position encoding except none") {
  for (const std::string& position : position_encoding_names()) {
    CAPTURE(position);
    EncoderDecoder model(test::tiny_config(position));
    test::allocate_nonzero(model.parameters(), 5);
    const Tensor a = test::teacher_forced(model, {{4, 7, 3}}, {{5}}),
                 b = test::teacher_forced(model, {{7, 4, 3}}, {{5}});
    double difference = 0;
    for (int64_t i = 0; i < a.size(); ++i)
      difference = std::max(difference, double(std::abs(a.data<float>()[i] - b.data<float>()[i])));
    CHECK((difference > 1e-3) == (position != "none"));
  }
}

TEST_CASE("parameters: names, sharing and initial values") {
  EncoderDecoder tied(test::tiny_config("none", NormPlacement::post));
  CHECK(tied.parameters().find("embed_tokens.weight"));
  CHECK(tied.parameters().find("decoder.layers.1.encoder_attn.out_proj.weight"));
  CHECK_FALSE(tied.parameters().find("encoder.layer_norm.weight"));  // pre-norm only

  EncoderDecoderConfig config = test::tiny_config("learned");
  config.tied_embeddings = config.tied_output = false;
  config.dim = 64;
  EncoderDecoder untied(config);
  Parameters& p = untied.parameters();
  CHECK_FALSE(p.find("embed_tokens.weight"));
  for (const char* name : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "encoder.layer_norm.weight",
                           "decoder.output_projection.weight", "decoder.embed_positions.weight"})
    CHECK(p.find(name));
  std::set<std::string> names;
  for (const Parameter& parameter : p) names.insert(parameter.name);
  CHECK(names.size() == p.count());

  p.allocate(1);
  const auto range = [&](const char* name) {
    const auto values = p.find(name)->value.to_vector<float>();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return std::pair(double(*low), double(*high));
  };
  const double glorot = std::sqrt(6.0 / 128);
  for (const char* name : {"encoder.layers.0.self_attn.qkv_proj.weight", "decoder.layers.0.encoder_attn.q_proj.weight",
                           "decoder.layers.0.encoder_attn.kv_proj.weight"}) {
    CHECK(range(name).second < glorot * std::sqrt(0.5));
    CHECK(range(name).second > glorot * std::sqrt(0.5) * 0.98);
  }
  CHECK(range("encoder.layers.0.self_attn.out_proj.weight").second > glorot * 0.98);
  CHECK(range("encoder.layers.0.fc1.bias") == std::pair(0.0, 0.0));
  CHECK(range("encoder.layer_norm.weight") == std::pair(1.0, 1.0));
  CHECK(range("encoder.embed_tokens.weight").second < 5.0 / 8);  // deviation 1/8
  CHECK_FALSE(p.find("encoder.layers.0.fc1.bias")->decay);
  CHECK(p.find("encoder.layers.0.fc1.weight")->decay);
}

TEST_CASE("sentences longer than the table of positions and invalid batches throw") {
  EncoderDecoder model(test::tiny_config("learned"));
  model.parameters().allocate(1);
  CHECK(model.longest() == 40);
  CHECK_THROWS_AS(test::teacher_forced(model, {std::vector<int32_t>(40, 5)}, {{4}}), Error);
  CHECK_THROWS_AS(test::teacher_forced(model, {{4}}, {std::vector<int32_t>(40, 5)}), Error);
  CHECK_NOTHROW(test::teacher_forced(model, {std::vector<int32_t>(39, 5)}, {{4}}));
  CHECK_THROWS_WITH_AS(test::teacher_forced(model, {{4}, {5}}, {{4}}),
                       "[decoder] expected as many targets as sources, 2, got 1", Error);
}

}  // namespace gyre
