#include "gyre/models/hugging_face/gguf.h"

#include <algorithm>
#include <string>

#include "gyre/core/error.h"
#include "gyre/models/hugging_face/decoder_config.h"
#include "gyre/models/hugging_face/json_fields.h"
#include "gyre/models/hugging_face/weights.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"

namespace gyre {
namespace {

bool is_llama(DecoderFamily family) { return family == DecoderFamily::llama || family == DecoderFamily::mistral; }

// Whether llama.cpp's graph of the family has a GELU, which it computes by the formula with tanh, from a table of f16.
bool has_gelu(DecoderFamily family) { return family == DecoderFamily::gpt_neox || family == DecoderFamily::gpt2; }

std::string architecture_name(DecoderFamily family) {
  switch (family) {
    case DecoderFamily::llama:
    case DecoderFamily::mistral:
      return "llama";
    case DecoderFamily::qwen2:
      return "qwen2";
    case DecoderFamily::qwen3:
      return "qwen3";
    case DecoderFamily::gpt_neox:
      return "gptneox";
    case DecoderFamily::gpt2:
      break;
  }
  return "gpt2";
}

// The scaling of RoPE; none for other encodings.
RopeScaling scaling_of(const EncoderOnlyConfig& c) {
  return c.position.encoding == "rope" ? c.position.get<RopeOptions>().scaling : RopeScaling::none;
}

// The family of a model. Throws an Error that lists what llama.cpp does not have.
DecoderFamily family_in_llama_cpp(const EncoderOnlyConfig& c) {
  std::string lines = decoder_differences(c);
  const auto expect = [&](bool is_good, const char* field, std::string_view expected, std::string_view got) {
    if (!is_good) lines += concat("\n  ", field, ": expected ", expected, ", got ", got);
  };
  if (lines.empty()) {
    const DecoderFamily family = decoder_family_of(c);
    const bool is_gelu = c.activation == Activation::gelu || c.activation == Activation::gelu_tanh;
    expect(has_gelu(family) ? is_gelu : c.activation == Activation::silu, "activation",
           has_gelu(family) ? "gelu or gelu-tanh" : "silu", to_string(c.activation));
    expect(family != DecoderFamily::qwen2 || c.query_dim() == c.dim, "head_dim", "the width divided by the heads",
           std::to_string(c.head_width()));
    expect(is_llama(family) || scaling_of(c) != RopeScaling::llama3, "rope_scaling",
           "none, linear or yarn for this architecture", "llama3");
    if (lines.empty()) return family;
  }
  throw Error("[gguf] llama.cpp has no such model: ", on_one_line(lines));
}

uint32_t file_type(GgufType type) {
  switch (type) {
    case GgufType::f32:
      return 0;
    case GgufType::f16:
      return 1;
    case GgufType::q8_0:
      return 7;
    case GgufType::bf16:
      break;
  }
  return 32;
}

void add_rope_keys(const EncoderOnlyConfig& c, const std::string& prefix, std::vector<GgufKey>& keys) {
  const auto& rope = c.position.get<RopeOptions>();
  keys.push_back({prefix + "rope.dimension_count", uint32_t(rope.rotary_dims > 0 ? rope.rotary_dims : c.head_width())});
  keys.push_back({prefix + "rope.freq_base", float(rope.base)});
  if (rope.scaling != RopeScaling::linear && rope.scaling != RopeScaling::yarn) return;  // llama3 is a tensor
  keys.push_back({prefix + "rope.scaling.type", std::string(enum_name(rope.scaling))});
  keys.push_back({prefix + "rope.scaling.factor", float(rope.scaling_factor)});
  if (rope.scaling == RopeScaling::yarn)
    keys.push_back({prefix + "rope.scaling.original_context_length", uint32_t(rope.original_length)});
}

GgufType stored_type(const NamedTensor& tensor, GgufType type) {
  const bool is_matrix = tensor.tensor.shape().rank() == 2 && tensor.name != "position_embd.weight";
  if (!is_matrix) return GgufType::f32;
  return type == GgufType::q8_0 && tensor.tensor.cols() % kGgufBlock != 0 ? GgufType::f16 : type;
}

}  // namespace

std::vector<GgufKey> gguf_keys(const EncoderOnlyConfig& config, int64_t longest, GgufType type) {
  const DecoderFamily family = family_in_llama_cpp(config);
  const std::string name = architecture_name(family), prefix = name + ".";
  if (config.attention.kind == AttentionKind::window) longest = std::min(longest, config.attention.window);
  const bool has_rms = config.norm_type == NormType::rms;
  std::vector<GgufKey> keys{{"general.architecture", name},
                            {"general.type", std::string("model")},
                            {prefix + "vocab_size", uint32_t(config.vocab_size)},
                            {prefix + "context_length", uint32_t(longest)},
                            {prefix + "embedding_length", uint32_t(config.dim)},
                            {prefix + "block_count", uint32_t(config.layers)},
                            {prefix + "feed_forward_length", uint32_t(config.ffn)},
                            {prefix + "attention.head_count", uint32_t(config.heads)},
                            {prefix + "attention.head_count_kv", uint32_t(config.key_heads())},
                            {prefix + "attention.key_length", uint32_t(config.head_width())},
                            {prefix + "attention.value_length", uint32_t(config.head_width())},
                            {prefix + (has_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"),
                             float(config.layer_norm_epsilon)}};
  if (config.position.encoding == "rope") add_rope_keys(config, prefix, keys);
  if (family == DecoderFamily::gpt_neox)
    keys.push_back({prefix + "use_parallel_residual", config.residual_form == ResidualForm::parallel});
  keys.push_back({"general.file_type", file_type(type)});
  keys.push_back({"general.quantization_version", uint32_t(2)});
  return keys;
}

std::vector<GgufTensor> gguf_tensors(const Parameters& parameters, const EncoderOnlyConfig& config, GgufType type) {
  const DecoderFamily family = family_in_llama_cpp(config);
  std::vector<NamedTensor> named = llama_cpp_tensors(parameters, config);
  // llama.cpp's GPT-NeoX does not share the table.
  if (family == DecoderFamily::gpt_neox && config.tied_output)
    named.push_back({"output.weight", parameters.begin()->value});
  if (scaling_of(config) == RopeScaling::llama3)
    named.push_back({"rope_freqs.weight", rope_divisors(config.position.get<RopeOptions>(), config.head_width())});
  std::vector<GgufTensor> tensors;
  for (const NamedTensor& tensor : named) tensors.push_back({tensor.name, tensor.tensor, stored_type(tensor, type)});
  return tensors;
}

}  // namespace gyre
