#include "gyre/train/optim/qk_clip.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/train/optim/optimizer.h"
#include "tests/models/tiny_encoder.h"
#include "tests/train/optim/clipped_heads.h"

namespace gyre::test {
namespace {

constexpr double kTinyRate = 1e-200;  // so small that only QK-clip changes weights

OptimizerOptions clip_options(double limit) {
  OptimizerOptions o;
  o.kind = "muon";
  o.qk_clip = limit;
  o.schedule.kind = "constant";
  o.schedule.warmup = 0;
  o.schedule.learning_rate = kTinyRate;
  return o;
}

EncoderOnlyConfig without_dropout(EncoderOnlyConfig config) {
  config.dropout = 0;
  return config;
}

// A model in f64 and a batch for it.
struct ClippedModel {
  ClippedModel(const EncoderOnlyConfig& config, double limit, Recompute recompute = Recompute::none)
      : model(config), recompute(recompute) {
    model.parameters().allocate(3, DType::f64);
    for (const Parameter& p : model.parameters()) {
      if (p.name.ends_with("qkv_proj.bias"))
        // The same values for queries and keys, so that logits are positive.
        for (int64_t i = 0; i < p.value.size(); ++i) p.value.data<double>()[i] = std::sin(double(i % config.dim));
    }
    optimizer = std::make_unique<Optimizer>(model.parameters(), cpu_kernels(), clip_options(limit));
  }

  // Makes gradients, and returns the largest logits of the heads of the first layer.
  std::vector<double> measure(bool training = true) {
    Tape tape(cpu_kernels(), {.record = true, .training = training, .seed = 1, .recompute = recompute});
    const MaskedInput batch = masked_batch({{3, 4, 5, 6, 7}, {8}, {9, 10, 3, 4}});
    tape.backward(model.loss(tape, batch).loss);
    return first().query_key_heads.largest_logits.to_vector<double>();
  }
  Parameter& first() {
    const auto found = std::find_if(model.parameters().begin(), model.parameters().end(),
                                    [](const Parameter& p) { return p.query_key_heads.queries > 0; });
    REQUIRE(found != model.parameters().end());
    return *found;
  }

  EncoderOnly model;
  Recompute recompute;
  std::unique_ptr<Optimizer> optimizer;
};

}  // namespace

TEST_CASE("QK-clip: the rows of queries and keys are scaled by the factors of their heads") {
  for (Kernels* kernels : available_cpu_kernels()) {
    CAPTURE(kernels->name());
    check_clipped_heads(*kernels, DType::f64, 1e-12);
    check_clipped_heads(*kernels, DType::f32, 1e-6);
  }
}

TEST_CASE("QK-clip: after an update, the logits of a layer are at most the limit") {
  for (const EncoderOnlyConfig& config : {tiny_encoder(), tiny_decoders()[0], tiny_encoder("alibi")}) {
    const bool grouped = config.kv_heads == 1;
    CAPTURE(grouped);
    ClippedModel m(without_dropout(config), 1e9);
    const std::vector<double> before = m.measure();
    REQUIRE(before.size() == 2);
    const double least = std::min(before[0], before[1]), most = std::max(before[0], before[1]);
    REQUIRE(least > 0);
    REQUIRE(most > 1.001 * least);
    const auto clipped = [&](double limit) {
      ClippedModel other(without_dropout(config), limit);
      other.measure();
      CHECK(other.optimizer->update(3).accepted);
      for (const double x : other.first().query_key_heads.largest_logits.to_vector<double>()) CHECK(x == 0);
      return other.measure();
    };
    const double limit = (least + most) / 2;
    const std::vector<double> one = clipped(limit), both = clipped(least / 2), none = clipped(2 * most);
    for (size_t h = 0; h < 2; ++h) {
      const double key = std::sqrt(limit / most);
      const double expected = grouped ? std::min(limit, before[h] * key) : std::min(limit, before[h]);
      CHECK(one[h] == doctest::Approx(expected).epsilon(1e-9));
      CHECK(none[h] == before[h]);
      const double smallest_key = std::sqrt(least / 2 / most);
      const double of_both = grouped ? std::min(least / 2, before[h] * smallest_key) : least / 2;
      CHECK(both[h] == doctest::Approx(of_both).epsilon(1e-9));
    }
  }
}

TEST_CASE("QK-clip: logits are the same however activations are kept, and measured in training only") {
  const EncoderOnlyConfig config = without_dropout(tiny_encoder());
  const std::vector<double> expected = ClippedModel(config, 1).measure();
  for (const Recompute recompute : {Recompute::attention, Recompute::block})
    CHECK(ClippedModel(config, 1, recompute).measure() == expected);
  for (const double x : ClippedModel(config, 1).measure(/*training=*/false)) CHECK(x == 0);
}

TEST_CASE("QK-clip: skipped updates and frozen weights are not scaled") {
  ClippedModel m(without_dropout(tiny_encoder()), 1e-3);
  m.measure();
  const std::vector<double> before = m.model.parameters().values().to_vector<double>();
  m.model.parameters()[0].gradient.data<double>()[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(m.optimizer->update(3).accepted);
  CHECK(m.model.parameters().values().to_vector<double>() == before);
  for (const double x : m.first().query_key_heads.largest_logits.to_vector<double>()) CHECK(x == 0);
  m.measure();
  m.optimizer->skip();
  for (const double x : m.first().query_key_heads.largest_logits.to_vector<double>()) CHECK(x == 0);

  ClippedModel frozen(without_dropout(tiny_encoder()), 1e-3);
  frozen.optimizer.reset();
  CHECK_FALSE(frozen.first().query_key_heads.largest_logits);  // no longer measured
  const Parameter& weight = frozen.first();
  frozen.first().trainable = false;
  frozen.optimizer = std::make_unique<Optimizer>(frozen.model.parameters(), cpu_kernels(), clip_options(1e-3));
  const std::vector<double> values = weight.value.to_vector<double>();
  Tape tape(cpu_kernels(), {.record = true, .training = true});
  tape.backward(frozen.model.loss(tape, masked_batch({{3, 4, 5, 6, 7}, {8}})).loss);
  frozen.optimizer->update(3);
  CHECK(weight.value.to_vector<double>() == values);
}

TEST_CASE("QK-clip: the moving average follows the scaled weights") {
  ClippedModel m(without_dropout(tiny_encoder()), 1e-3);
  m.optimizer.reset();
  OptimizerOptions options = clip_options(1e-3);
  options.ema = 0.9;
  m.optimizer = std::make_unique<Optimizer>(m.model.parameters(), cpu_kernels(), options);
  const std::vector<double> before = m.first().value.to_vector<double>();
  m.measure();
  m.optimizer->update(3);
  const std::vector<double> after = m.first().value.to_vector<double>();
  CHECK(after != before);
  const auto average = m.optimizer->average(m.first()).read().to_vector<double>();
  for (size_t i = 0; i < after.size(); ++i)  // the first decay is 1 / 10
    CHECK(average[i] == doctest::Approx(0.1 * before[i] + 0.9 * after[i]));
}

TEST_CASE("QK-clip: models without such attention and other optimizers are errors") {
  EncoderOnlyConfig normed = tiny_encoder(), linear = tiny_encoder();
  normed.qk_norm = true;
  linear.attention.kind = AttentionKind::linear;
  for (const EncoderOnlyConfig& config : {normed, linear}) {
    EncoderOnly model(config);
    model.parameters().allocate(1);
    CHECK_THROWS_WITH_AS(Optimizer(model.parameters(), cpu_kernels(), clip_options(100)),
                         doctest::Contains("[--qk-clip] expected a model that trains softmax self-attention"),
                         UsageError);
  }
  OptimizerOptions options = clip_options(100);
  options.validate();
  options.kind = "adamw";
  CHECK_THROWS_WITH_AS(options.validate(), "[--qk-clip] expected 0, or --optimizer muon or normuon, got 100 with adamw",
                       UsageError);
  options.qk_clip = 0;
  options.validate();
  options.qk_clip = -1;
  CHECK_THROWS_AS(options.validate(), UsageError);
}

}  // namespace gyre::test
