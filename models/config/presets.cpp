// The presets of models: named sizes, and the options of BERT, its relatives and causal language models.
#include <algorithm>
#include <span>

#include "gyre/models/config/config.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"

namespace gyre {
namespace {

struct Preset {
  const char* name;
  int64_t layers, dim, ffn, heads;
  double dropout;
};
// base and big are those of Vaswani et al. 2017, table 3; tiny is for experiments on a laptop.
constexpr Preset kEncoderDecoders[] = {{"transformer-tiny", 4, 128, 256, 4, 0.1},
                                       {"transformer-base", 6, 512, 2048, 8, 0.1},
                                       {"transformer-big", 6, 1024, 4096, 16, 0.3}};
// The sizes of BERT are those of Turc et al. 2019 (mini, small) and Devlin et al. 2019 (base).
constexpr Preset kEncodersOnly[] = {{"mlm-small", 4, 256, 1024, 4, 0.1},      {"bert-mini", 4, 256, 1024, 4, 0.1},
                                    {"bert-small", 4, 512, 2048, 8, 0.1},     {"bert-base", 12, 768, 3072, 12, 0.1},
                                    {"wobert-mini", 4, 256, 1024, 4, 0.1},    {"wobert-small", 4, 512, 2048, 8, 0.1},
                                    {"wobert-base", 12, 768, 3072, 12, 0.1},  {"nezha-mini", 4, 256, 1024, 4, 0.1},
                                    {"nezha-small", 4, 512, 2048, 8, 0.1},    {"nezha-base", 12, 768, 3072, 12, 0.1},
                                    {"roformer-mini", 4, 256, 1024, 4, 0.1},  {"roformer-small", 4, 512, 2048, 8, 0.1},
                                    {"roformer-base", 12, 768, 3072, 12, 0.1}};

// Causal models. lm-nano, lm-tiny and gpt2-small have the blocks of GPT-2, llama-* those of LLaMA (Touvron et al.
// 2023), and neox-160m those of GPT-NeoX (Black et al. 2022). Sizes: lm-nano so that every number of a step can be
// read, gpt2-small as in Radford et al. 2019, llama-160m as in Miao et al. 2023 (SpecInfer), llama-1b as Llama 3.2 1B,
// neox-160m as Pythia-160m (Biderman et al. 2023).
constexpr Preset kDecodersOnly[] = {
    {"lm-nano", 1, 8, 16, 2, 0},        {"lm-tiny", 4, 256, 1024, 4, 0.1},    {"gpt2-small", 12, 768, 3072, 12, 0.1},
    {"llama-tiny", 6, 384, 1024, 6, 0}, {"llama-160m", 12, 768, 3072, 12, 0}, {"llama-1b", 16, 2048, 8192, 32, 0},
    {"neox-160m", 12, 768, 3072, 12, 0}};

// BERT and the models that share all of its options except the position encoding. max_positions: of the published base
// model. A WoBERT is a BERT with a vocabulary of Chinese words (Su 2020).
struct BertFamily {
  std::string_view prefix;
  const char* encoding;
  int64_t max_positions;
};
constexpr BertFamily kBertFamilies[] = {
    {"bert-", "learned", 512}, {"wobert-", "learned", 512}, {"nezha-", "nezha", 512}, {"roformer-", "rope", 1536}};

// Sets the options that these models share apart from their sizes (Hugging Face's defaults).
void make_bert(EncoderOnlyConfig& c) {
  c.norm = NormPlacement::post;
  c.attention_dropout = 0.1;
  c.layer_norm_epsilon = 1e-12;
  c.initial_deviation = 0.02;
  c.token_types = 2;
  c.embedding_norm = c.output_bias = true;
}

PositionConfig position_config(const std::string& encoding, int64_t max_positions) {
  PositionConfig config(encoding);
  config.get<PositionTableOptions>().max_positions = max_positions;
  return config;
}

void make_causal(EncoderOnlyConfig& c) {
  c.norm = NormPlacement::pre;
  c.causal = true;
  c.head_transform = false;
}

PositionConfig rope_config(double base, int64_t rotary_dims) {
  PositionConfig config("rope");
  auto& options = config.get<RopeOptions>();
  options.pairs = RotaryPairs::half_split;
  options.base = base;
  options.rotary_dims = rotary_dims;
  return config;
}

void make_gpt2(EncoderOnlyConfig& c) {
  c.activation = Activation::gelu_tanh;
  c.attention_dropout = 0.1;
  c.initial_deviation = 0.02;
  c.scaled_residual_init = true;
  c.position = position_config("learned", 1024);
}

void make_llama(EncoderOnlyConfig& c, int64_t kv_heads, double base, bool tied_output) {
  c.norm_type = NormType::rms;
  c.activation = Activation::silu;
  c.gated_ffn = true;
  c.biases = Biases::none;
  c.kv_heads = kv_heads;
  c.initial_deviation = 0.02;
  c.tied_output = tied_output;
  c.position = rope_config(base, 0);
}

void make_neox(EncoderOnlyConfig& c) {
  c.residual_form = ResidualForm::parallel;
  c.initial_deviation = 0.02;
  c.tied_output = false;
  c.position = rope_config(10000, c.head_width() / 4);
}

// Sets the options of a causal preset, which has its sizes.
void make_decoder(const std::string& name, EncoderOnlyConfig& c) {
  make_causal(c);
  if (name == "lm-nano") c.vocab_size = 16;
  if (name == "gpt2-small") make_gpt2(c);
  if (name == "llama-tiny") make_llama(c, 2, 10000, true);
  if (name == "llama-160m") make_llama(c, 0, 10000, false);
  if (name == "llama-1b") make_llama(c, 8, 500000, true);
  if (name == "neox-160m") make_neox(c);
}

std::vector<Preset> single_stacks() {
  std::vector<Preset> presets(std::begin(kEncodersOnly), std::end(kEncodersOnly));
  presets.insert(presets.end(), std::begin(kDecodersOnly), std::end(kDecodersOnly));
  return presets;
}

std::vector<std::string> names_of(std::span<const Preset> presets) {
  std::vector<std::string> names;
  for (const Preset& p : presets) names.emplace_back(p.name);
  return names;
}

// Sets the sizes of the preset, and returns its number of layers.
int64_t apply(std::span<const Preset> presets, const std::string& name, ModelConfig& config) {
  std::string names;
  for (const Preset& p : presets) {
    if (name == p.name) {
      config.dim = p.dim;
      config.ffn = p.ffn;
      config.heads = p.heads;
      config.dropout = p.dropout;
      return p.layers;
    }
    names += (names.empty() ? "" : ", ") + std::string(p.name);
  }
  throw Error("[preset] expected one of ", names, ", got \"", name, "\"");
}

}  // namespace

EncoderDecoderConfig EncoderDecoderConfig::preset(const std::string& name) {
  EncoderDecoderConfig config;
  config.encoder_layers = config.decoder_layers = apply(kEncoderDecoders, name, config);
  return config;
}

std::vector<std::string> EncoderDecoderConfig::preset_names() { return names_of(kEncoderDecoders); }

EncoderOnlyConfig EncoderOnlyConfig::preset(const std::string& name) {
  EncoderOnlyConfig config;
  config.layers = apply(single_stacks(), name, config);
  if (std::any_of(std::begin(kDecodersOnly), std::end(kDecodersOnly), [&](const Preset& p) { return name == p.name; }))
    make_decoder(name, config);
  for (const BertFamily& family : kBertFamilies) {
    if (!name.starts_with(family.prefix)) continue;
    make_bert(config);
    config.position = position_config(family.encoding, family.max_positions);
  }
  return config;
}

std::vector<std::string> EncoderOnlyConfig::preset_names() { return names_of(single_stacks()); }

}  // namespace gyre
