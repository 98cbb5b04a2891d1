#include "gyre/models/modules/lora.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/models/tiny_encoder.h"

namespace gyre::test {
namespace {

using Names = std::vector<std::string>;

Names adapted(Parameters& base, const Names& targets, bool fused = false) {
  const LoraAdapters adapters(base, {.rank = 2, .targets = targets}, fused);
  Names names;
  for (const LinearModule& module : adapters.modules()) names.push_back(module.name);
  return names;
}

Names adapted(const EncoderOnlyConfig& config, const Names& targets, bool fused = false) {
  EncoderOnly model(config);
  return adapted(model.parameters(), targets, fused);
}

EncoderOnlyConfig one_layer(EncoderOnlyConfig config) {
  config.layers = 1;
  return config;
}
EncoderOnlyConfig llama() { return one_layer(tiny_decoders()[0]); }
EncoderOnlyConfig gpt2() { return one_layer(tiny_decoders()[4]); }

Names in_layer(Names names) {
  for (std::string& name : names) name = "encoder.layers.0." + name;
  return names;
}

Tensor logits_of(const EncoderOnly& model) {
  Tape tape(cpu_kernels(), {.record = false});
  const MaskedInput batch = masked_batch(kSentences);
  return model.logits(model.encode(tape, batch.ids, batch.segments)).value();
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  const auto x = a.span<float>(), y = b.span<float>();
  for (size_t i = 0; i < x.size(); ++i) largest = std::max(largest, double(std::abs(x[i] - y[i])));
  return largest;
}

// Models whose linear layers are called in every way: fused, column by column, and with an activation.
std::vector<EncoderOnlyConfig> models() {
  std::vector<EncoderOnlyConfig> all = tiny_decoders();
  all.push_back(tiny_encoder());
  EncoderOnlyConfig linear = tiny_encoder();
  linear.attention.kind = AttentionKind::linear;
  all.push_back(linear);
  return all;
}

const std::vector<Names> kTargets{{"all-linear"}, {"q_proj", "v_proj"}, {"qkv_proj", "fc2"}, {"*.0.*"}};

}  // namespace

TEST_CASE("lora: names of modules, patterns and words of PEFT choose linear layers") {
  const Names all = in_layer({"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj",
                              "gate_proj", "up_proj", "fc2"});
  CHECK(adapted(llama(), {"all-linear"}) == all);
  CHECK(adapted(llama(), {"*"}) == all);
  CHECK(adapted(llama(), {"encoder.layers.0.*"}) == all);
  CHECK(adapted(llama(), {"v_proj", "q_proj"}) == in_layer({"self_attn.q_proj", "self_attn.v_proj"}));
  CHECK(adapted(llama(), {"q_proj", "*.q_proj"}) == in_layer({"self_attn.q_proj"}));
  CHECK(adapted(llama(), {"[kv]_proj"}) == in_layer({"self_attn.k_proj", "self_attn.v_proj"}));
  CHECK(adapted(llama(), {"o_proj", "down_proj"}) == in_layer({"self_attn.out_proj", "fc2"}));
  CHECK(adapted(llama(), {"qkv_proj"}) == in_layer({"self_attn.qkv_proj"}));
  CHECK(adapted(gpt2(), {"all-linear"}) ==
        in_layer({"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "fc1", "fc2"}));
  CHECK(adapted(gpt2(), {"all-linear"}, true) == in_layer({"self_attn.qkv_proj", "self_attn.out_proj", "fc1", "fc2"}));
  CHECK(adapted(gpt2(), {"c_attn"}) == in_layer({"self_attn.qkv_proj"}));
  CHECK(adapted(gpt2(), {"c_proj"}) == in_layer({"self_attn.out_proj", "fc2"}));
  CHECK(adapted(tiny_encoder(), {"lm_head.dense", "encoder.layers.1.fc1"}) ==
        Names{"encoder.layers.1.fc1", "lm_head.dense"});
  EncoderDecoderConfig pairs = tiny_config();
  pairs.encoder_layers = pairs.decoder_layers = 1;
  EncoderDecoder translation(pairs);
  CHECK(adapted(translation.parameters(), {"v_proj"}) == Names{"encoder.layers.0.self_attn.v_proj",
                                                               "decoder.layers.0.self_attn.v_proj",
                                                               "decoder.layers.0.encoder_attn.v_proj"});
}

TEST_CASE("lora: targets that are no linear layers, or overlap, are errors") {
  CHECK(error_of([] {
          adapted(llama(), {"q_proj", "embed_tokens"});
        }) ==
        "[--lora-targets] expected a pattern that matches one of q_proj, k_proj, v_proj, qkv_proj, out_proj, "
        "gate_proj, up_proj, fc1, fc2, all-linear, got embed_tokens");
  CHECK(contains(error_of([] {
                   adapted(llama(), {"qkv_proj", "k_proj"});
                 }),
                 "[--lora-targets] expected one adapter for each row of a weight, got two for encoder.layers.0."));
}

TEST_CASE("lora: a model begins as its base, and merged adapters compute the same") {
  for (const EncoderOnlyConfig& config : models()) {
    for (const Names& targets : kTargets) {
      CAPTURE(targets.front());
      EncoderOnly model(config);
      allocate_nonzero(model.parameters(), 3);
      const Tensor before = logits_of(model), weights = model.parameters().values().clone();
      LoraAdapters adapters(model.parameters(), {.rank = 3, .alpha = 5, .targets = targets}, false);
      adapters.parameters().allocate(4);
      CHECK(largest_difference(logits_of(model), before) < 1e-4);
      allocate_nonzero(adapters.parameters(), 5);
      const Tensor with = logits_of(model);
      CHECK(largest_difference(with, before) > 1e-2);
      CHECK(model.parameters().values().to_vector<float>() == weights.to_vector<float>());
      adapters.merge();
      CHECK(largest_difference(logits_of(model), with) < 2e-4);
      for (const Parameter& p : model.parameters()) CHECK((p.adapters.empty() && p.trainable));
    }
  }
}

TEST_CASE("lora: the scale is alpha / rank, or alpha / sqrt(rank) if rank-stabilized") {
  CHECK(LoraOptions{.rank = 4, .alpha = 6}.scale() == 1.5);
  CHECK(LoraOptions{.rank = 4, .alpha = 6, .rank_stabilized = true}.scale() == 3);
}

TEST_CASE("lora: the gradients of adapters pass finite differences, and the base has none") {
  for (const EncoderOnlyConfig& config : models()) {
    EncoderOnly model(config);
    allocate_nonzero(model.parameters(), 6, DType::f64);
    model.parameters().free_gradients();
    LoraAdapters adapters(model.parameters(), {.rank = 2, .alpha = 2, .targets = {"all-linear"}, .dropout = 0.2},
                          false);
    allocate_nonzero(adapters.parameters(), 7, DType::f64);
    const MaskedInput batch = masked_batch(kSentences);
    check_gradients(adapters.parameters(), [&](Tape& tape) { return model.loss(tape, batch); });
    for (const Parameter& p : model.parameters()) CHECK(!p.gradient.defined());
  }
  EncoderDecoder translation(tiny_config());
  allocate_nonzero(translation.parameters(), 6, DType::f64);
  LoraAdapters adapters(translation.parameters(), {.rank = 2, .alpha = 2}, false);
  allocate_nonzero(adapters.parameters(), 7, DType::f64);
  const PairInput batch = make_batch({{4, 5}, {6}}, {{7}, {3, 4, 5}});
  check_gradients(adapters.parameters(), [&](Tape& tape) { return translation.loss(tape, batch, 0.1); });
}

TEST_CASE("lora: the matrix A begins uniform within 1 / sqrt(in), and B with zeros") {
  EncoderOnly model(llama());
  model.parameters().allocate(1);
  LoraAdapters adapters(model.parameters(), {.rank = 64}, false);
  adapters.parameters().allocate(1);
  for (const Parameter& p : adapters.parameters()) {
    CAPTURE(p.name);
    double largest = 0;
    for (const float x : p.value.span<float>()) largest = std::max(largest, double(std::abs(x)));
    const double bound = p.name.ends_with("lora_A.weight") ? 1 / std::sqrt(double(p.shape[1])) : 0;
    CHECK(largest <= bound);
    CHECK(largest >= 0.9 * bound);
  }
  CHECK(adapters.describe() == "LoRA of rank 64 on 7 linear layers");
}

}  // namespace gyre::test
