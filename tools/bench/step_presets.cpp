#include "tools/bench/step_presets.h"

namespace gyre {
namespace {

template <class Config>
Config varied(Config config, const StepVariant& variant) {
  config.position = variant.position;
  config.attention = variant.attention;
  return config;
}

std::unique_ptr<Workload> mlm_small(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("mlm-small");
  config.vocab_size = 8192;
  return language_workload(varied(config, variant), 16, 256, {device});
}

std::unique_ptr<Workload> lm_small(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("lm-tiny");
  config.vocab_size = 8192;
  return language_workload(varied(config, variant), 8, 512, {device});
}

// Keeps the model's own options of RoPE.
std::unique_ptr<Workload> causal(const std::string& model, int64_t vocab_size, int segments, int length,
                                 const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(model);
  config.vocab_size = vocab_size;
  config.attention = variant.attention;
  if (variant.position.encoding != config.position.encoding) config.position = variant.position;
  return language_workload(config, segments, length, {device});
}

std::unique_ptr<Workload> llama_tiny(const StepVariant& variant, Device device) {
  return causal("llama-tiny", 8192, 8, 512, variant, device);
}
std::unique_ptr<Workload> llama_160m(const StepVariant& variant, Device device) {
  return causal("llama-160m", 32000, 2, 512, variant, device);
}
std::unique_ptr<Workload> llama_160m_32k(const StepVariant& variant, Device device) {
  return causal("llama-160m", 32000, 32, 1024, variant, device);
}
std::unique_ptr<Workload> neox_160m(const StepVariant& variant, Device device) {
  return causal("neox-160m", 50304, 2, 512, variant, device);
}

std::unique_ptr<Workload> mlm_base_32k(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config;
  config.layers = 12;
  config.dim = 768;
  config.ffn = 3072;
  config.heads = 12;
  config.vocab_size = 30522;
  return language_workload(varied(config, variant), 64, 512, {device});
}

std::unique_ptr<Workload> nmt_base(const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-base");
  config.vocab_size = 32768;
  return translation_workload(varied(config, variant), 16, 32, {device});
}

std::unique_ptr<Workload> nmt_25k(const std::string& model, const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset(model);
  config.vocab_size = 32768;
  return translation_workload(varied(config, variant), constant_rate("adam", 0.98), random_batches(4, 833),
                              "833 pairs of 25 to 35 random tokens per side", {device});
}

std::unique_ptr<Workload> nmt_base_25k(const StepVariant& variant, Device device) {
  return nmt_25k("transformer-base", variant, device);
}
std::unique_ptr<Workload> nmt_big_25k(const StepVariant& variant, Device device) {
  return nmt_25k("transformer-big", variant, device);
}

std::unique_ptr<Workload> multi30k_tiny(const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 10000;
  config.norm = NormPlacement::pre;
  config.dropout = 0.3;
  OptimizerOptions optimizer;
  optimizer.schedule.learning_rate = 4e-3;
  optimizer.schedule.warmup = 1000;
  optimizer.ema = 0.999;
  return translation_workload(varied(config, variant), optimizer, token_batches(read_lengths(variant.text)),
                              "random tokens, " + describe_text(variant.text), {device});
}

constexpr struct {
  const char* name;
  std::unique_ptr<Workload> (*make)(const StepVariant& variant, Device device);
} kPresets[] = {{"mlm-small", mlm_small},           {"lm-small", lm_small},         {"nmt-base", nmt_base},
                {"multi30k-tiny", multi30k_tiny},   {"nmt-base-25k", nmt_base_25k}, {"nmt-big-25k", nmt_big_25k},
                {"mlm-base-32k", mlm_base_32k},     {"llama-tiny", llama_tiny},     {"llama-160m", llama_160m},
                {"llama-160m-32k", llama_160m_32k}, {"neox-160m", neox_160m}};

}  // namespace

std::vector<std::string> step_presets() {
  std::vector<std::string> names;
  for (const auto& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

std::unique_ptr<Workload> make_workload(const std::string& preset, const StepVariant& variant, Device device) {
  for (const auto& known : kPresets) {
    if (preset != known.name) continue;
    std::unique_ptr<Workload> work = known.make(variant, device);
    work->set_recompute(variant.recompute);
    return work;
  }
  throw Error("[bench] expected a known preset, got ", preset);
}

}  // namespace gyre
