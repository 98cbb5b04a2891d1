#include "gyre/models/hugging_face/decoder_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"
#include "gyre/models/config/config_json.h"
#include "gyre/models/hugging_face/json_fields.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"

namespace gyre {
namespace {

// The rotary position encoding of a decoder in the format of Hugging Face.
RopeScaling scaling_of(const Json& scaling, const std::string& context) {
  // Both names are read because older files have "type", which transformers prefers if there are both.
  const Json type = scaling.value("type", scaling.value("rope_type", Json()));
  const bool names_no_type = type.is_null() && !scaling.contains("factor");
  if (type == "default" || names_no_type) return RopeScaling::none;
  for (const RopeScaling one : {RopeScaling::linear, RopeScaling::yarn, RopeScaling::llama3})
    if (type == enum_name(one)) return one;
  throw Error(context, "rope_scaling: expected the type default, linear, yarn or llama3, got ",
              cut_for_message(type.dump()));
}

void require_keys(const Json& scaling, RopeScaling type, const std::string& context) {
  std::vector<const char*> keys;
  if (type != RopeScaling::none) keys.push_back("factor");
  if (type == RopeScaling::llama3)
    keys.insert(keys.end(), {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
  for (const char* key : keys) {
    require(scaling.contains(key) && !scaling[key].is_null(), context, "rope_scaling: expected a ", key,
            " for the type ", enum_name(type), ", found none");
  }
}

// Reads the scaling, and returns the share of a head's features that is rotated, `rotated` if the scaling has none.
double read_scaling(const Json& scaling, EncoderOnlyConfig& c, double rotated, const std::string& context) {
  RopeOptions& options = c.position.get<RopeOptions>();
  require(scaling.is_object(), context, "rope_scaling: expected an object, got ", cut_for_message(scaling.dump()));
  require_fixed(scaling,
                {{"beta_fast", 32.0},
                 {"beta_slow", 1.0},
                 {"truncate", true},
                 {"attention_factor", nullptr},
                 {"mscale", nullptr},
                 {"mscale_all_dim", nullptr}},
                context + "rope_scaling.");
  options.scaling = scaling_of(scaling, context);
  require_keys(scaling, options.scaling, context);
  const Json given = without_nulls(scaling);
  ConfigReader reader(given, "config.rope_scaling");
  reader("rope_theta", options.base);
  reader("partial_rotary_factor", rotated);
  reader("factor", options.scaling_factor);
  reader("original_max_position_embeddings", options.original_length);
  reader("low_freq_factor", options.low_freq_factor);
  reader("high_freq_factor", options.high_freq_factor);
  return rotated;
}

// Reads "rope_parameters", or the older "rope_scaling" with "rope_theta" (GPT-NeoX: "rotary_emb_base"), into a config
// whose other fields are set. Throws for angles that Gyre does not compute. Messages begin with `context`.
void read_decoder_rope(const Json& json, DecoderFamily family, EncoderOnlyConfig& c, const std::string& context) {
  const bool neox = family == DecoderFamily::gpt_neox;
  RopeOptions& options = c.position.get<RopeOptions>();
  options.original_length = c.position.get<PositionTableOptions>().max_positions;
  double rotated = neox ? 0.25 : 1;
  ConfigReader reader(json, "config");
  reader(neox ? "rotary_emb_base" : "rope_theta", options.base);
  reader(neox ? "rotary_pct" : "partial_rotary_factor", rotated);
  const Json scaling = json.value("rope_parameters", json.value("rope_scaling", Json()));
  if (!scaling.is_null()) rotated = read_scaling(scaling, c, rotated, context);
  require(neox || rotated == 1, context, "partial_rotary_factor: expected 1, the only supported value, got ", rotated);
  const auto dims = int64_t(double(c.head_width()) * rotated);
  require(dims >= 2, context, "rotary_pct: expected at least 2 rotated features of the ", c.head_width(),
          " of a head, got ", rotated);
  options.rotary_dims = dims == c.head_width() ? 0 : dims;
}

void write_decoder_rope(const EncoderOnlyConfig& c, DecoderFamily family, Json& json) {
  const auto& options = c.position.get<RopeOptions>();
  const int64_t dims = options.rotary_dims > 0 ? options.rotary_dims : c.head_width();
  json["rope_theta"] = options.base;
  if (family == DecoderFamily::gpt_neox) {
    json["rotary_emb_base"] = options.base;  // GPT-NeoX's own name
    double share = double(dims) / double(c.head_width());
    while (int64_t(double(c.head_width()) * share) < dims) share = std::nextafter(share, 1.0);  // readers truncate
    json["rotary_pct"] = share;
  }
  if (options.scaling == RopeScaling::none) return;
  Json& scaling = json["rope_scaling"];
  scaling = {{"rope_type", enum_name(options.scaling)}, {"factor", options.scaling_factor}};
  if (options.scaling == RopeScaling::llama3) {
    scaling["low_freq_factor"] = options.low_freq_factor;
    scaling["high_freq_factor"] = options.high_freq_factor;
  }
  if (options.scaling != RopeScaling::linear) scaling["original_max_position_embeddings"] = options.original_length;
}

// Lines "field: expected .., got .." for the options that the family cannot represent.
std::string decoder_rope_differences(const EncoderOnlyConfig& c, DecoderFamily family) {
  const auto& options = c.position.get<RopeOptions>();
  RopeOptions needed = options;
  needed.learnable = needed.rotate_values = false;
  needed.step = 1;
  if (family != DecoderFamily::gpt_neox && options.rotary_dims != c.head_width()) needed.rotary_dims = 0;
  std::string lines = differences(json_of(options), json_of(needed));
  if (options.scaling == RopeScaling::ntk) lines += "\n  rope_scaling: expected none, linear, yarn or llama3, got ntk";
  return lines;
}

// The fields that Gyre and Hugging Face share, by Hugging Face's names.
constexpr auto kKeysOfRopeModels = [](auto& field, auto& c) {
  field("vocab_size", c.vocab_size);
  field("hidden_size", c.dim);
  field("num_hidden_layers", c.layers);
  field("num_attention_heads", c.heads);
  field("intermediate_size", c.ffn);
  field("hidden_act", c.activation);
  field("attention_dropout", c.attention_dropout);
  field("max_position_embeddings", c.position.template get<PositionTableOptions>().max_positions);
  field("initializer_range", c.initial_deviation);
  field("tie_word_embeddings", c.tied_output);
};

constexpr auto kLlamaKeys = [](auto& field, auto& c) {
  kKeysOfRopeModels(field, c);
  field("num_key_value_heads", c.kv_heads);
  field("rms_norm_eps", c.layer_norm_epsilon);
};

constexpr auto kGptNeoxKeys = [](auto& field, auto& c) {
  kKeysOfRopeModels(field, c);
  field("hidden_dropout", c.dropout);
  field("layer_norm_eps", c.layer_norm_epsilon);
};

constexpr auto kGpt2Keys = [](auto& field, auto& c) {
  field("vocab_size", c.vocab_size);
  field("n_embd", c.dim);
  field("n_layer", c.layers);
  field("n_head", c.heads);
  field("n_inner", c.ffn);
  field("activation_function", c.activation);
  field("resid_pdrop", c.dropout);
  field("attn_pdrop", c.attention_dropout);
  field("n_positions", c.position.template get<PositionTableOptions>().max_positions);
  field("initializer_range", c.initial_deviation);
  field("layer_norm_epsilon", c.layer_norm_epsilon);
};

template <class Visitor, class Config>
void visit_keys(DecoderFamily family, Visitor& visitor, Config& config) {
  if (family == DecoderFamily::gpt2) return kGpt2Keys(visitor, config);
  if (family == DecoderFamily::gpt_neox) return kGptNeoxKeys(visitor, config);
  kLlamaKeys(visitor, config);
}

constexpr const char* activation_key(DecoderFamily family) {
  return family == DecoderFamily::gpt2 ? "activation_function" : "hidden_act";
}

struct DecoderArchitecture {
  DecoderFamily family;
  const char *name, *bare_name, *model_type;  // bare: without the output projection
};
constexpr DecoderArchitecture kDecoderArchitectures[] = {
    {DecoderFamily::llama, "LlamaForCausalLM", "LlamaModel", "llama"},
    {DecoderFamily::mistral, "MistralForCausalLM", "MistralModel", "mistral"},
    {DecoderFamily::qwen2, "Qwen2ForCausalLM", "Qwen2Model", "qwen2"},
    {DecoderFamily::qwen3, "Qwen3ForCausalLM", "Qwen3Model", "qwen3"},
    {DecoderFamily::gpt_neox, "GPTNeoXForCausalLM", "GPTNeoXModel", "gpt_neox"},
    {DecoderFamily::gpt2, "GPT2LMHeadModel", "GPT2Model", "gpt2"}};

const DecoderArchitecture& architecture_of(DecoderFamily family) {
  return *std::find_if(std::begin(kDecoderArchitectures), std::end(kDecoderArchitectures),
                       [&](const DecoderArchitecture& a) { return a.family == family; });
}

// Keys for which Gyre supports a single value.
Json fixed_keys(DecoderFamily family) {
  switch (family) {
    case DecoderFamily::llama:
      return {{"attention_bias", false}, {"mlp_bias", false}};
    case DecoderFamily::mistral:
      return Json::object();
    case DecoderFamily::qwen2:
      return {{"use_sliding_window", false}};
    case DecoderFamily::qwen3:
      return {{"attention_bias", false}, {"use_sliding_window", false}};
    case DecoderFamily::gpt_neox:
      return {{"attention_bias", true}};
    case DecoderFamily::gpt2:
      break;
  }
  return {{"scale_attn_weights", true},
          {"scale_attn_by_inverse_layer_idx", false},
          {"add_cross_attention", false},
          {"tie_word_embeddings", true}};
}

// The defaults of transformers.
struct Sizes {
  int64_t vocab_size, dim, layers, heads, kv_heads, ffn, max_positions;
};
Sizes default_sizes(DecoderFamily family) {
  switch (family) {
    case DecoderFamily::llama:
      return {32000, 4096, 32, 32, 0, 11008, 2048};
    case DecoderFamily::mistral:
      return {32000, 4096, 32, 32, 8, 14336, 131072};
    case DecoderFamily::qwen2:
    case DecoderFamily::qwen3:
      return {151936, 4096, 32, 32, 32, 22016, 32768};
    case DecoderFamily::gpt_neox:
      return {50432, 6144, 44, 64, 0, 24576, 2048};
    case DecoderFamily::gpt2:
      break;
  }
  return {50257, 768, 12, 12, 0, 3072, 1024};
}

EncoderOnlyConfig default_config(DecoderFamily family) {
  const bool gpt2 = family == DecoderFamily::gpt2, neox = family == DecoderFamily::gpt_neox;
  EncoderOnlyConfig c = EncoderOnlyConfig::preset(gpt2 ? "gpt2-small" : neox ? "neox-160m" : "llama-160m");
  const Sizes sizes = default_sizes(family);
  c.vocab_size = sizes.vocab_size;
  c.dim = sizes.dim;
  c.layers = sizes.layers;
  c.heads = sizes.heads;
  c.kv_heads = sizes.kv_heads;
  c.ffn = sizes.ffn;
  c.position.get<PositionTableOptions>().max_positions = sizes.max_positions;
  if (!gpt2 && !neox) c.layer_norm_epsilon = 1e-6;
  if (family == DecoderFamily::qwen2) c.biases = Biases::qkv;
  c.qk_norm = family == DecoderFamily::qwen3;
  return c;
}

bool has_head_dim(DecoderFamily family) { return family != DecoderFamily::gpt_neox && family != DecoderFamily::gpt2; }

// GPT-2 widens its feed-forward blocks four times by default, and Qwen3 has a default width of heads.
void read_widths(const Json& json, DecoderFamily family, EncoderOnlyConfig& c) {
  if (family == DecoderFamily::gpt2 && !json.contains("n_inner")) c.ffn = 4 * c.dim;
  if (family == DecoderFamily::qwen3) c.head_dim = 128;
  if (has_head_dim(family)) ConfigReader(json, "config")("head_dim", c.head_dim);
  kBound("head_dim", c.head_dim);
  if (c.heads > 0 && c.head_dim * c.heads == c.dim) c.head_dim = 0;
}

void read_window(const Json& json, EncoderOnlyConfig& c) {
  constexpr int64_t kDefault = 4096;
  const auto given = json.find("sliding_window");
  if (given != json.end() && given->is_null()) return;
  c.attention.kind = AttentionKind::window;
  c.attention.window = kDefault;
  ConfigReader(json, "config")("sliding_window", c.attention.window);
  kBound("sliding_window", c.attention.window);
}

// All layers have the same attention here.
void check_layer_types(const Json& json, const EncoderOnlyConfig& c, const std::string& context) {
  const auto types = json.find("layer_types");
  if (types == json.end()) return;
  const char* expected = c.attention.kind == AttentionKind::window ? "sliding_attention" : "full_attention";
  const bool alike = types->is_array() &&
                     std::all_of(types->begin(), types->end(), [&](const Json& type) { return type == expected; });
  require(alike, context, "layer_types: expected \"", expected, "\" for every layer, got ",
          cut_for_message(types->dump()));
}

// Lines for the fields that the family cannot represent.
std::string unsupported_fields(const EncoderOnlyConfig& c, DecoderFamily family) {
  Json needed{{"norm", "pre"},      {"final_norm", true},       {"token_types", 0},        {"embedding_norm", false},
              {"embedding_dim", 0}, {"scale_embedding", false}, {"head_transform", false}, {"output_bias", false}};
  const bool gpt2 = family == DecoderFamily::gpt2, neox = family == DecoderFamily::gpt_neox;
  if (gpt2 || neox) {
    needed.update({{"norm_type", "layer"}, {"gated_ffn", false}, {"biases", "all"}, {"qk_norm", false}});
    if (c.key_heads() != c.heads) needed["kv_heads"] = 0;
    if (c.query_dim() != c.dim) needed["head_dim"] = 0;
  } else {
    needed.update({{"norm_type", "rms"}, {"gated_ffn", true}});
    if (c.biases == Biases::all) needed["biases"] = "none";
    if (c.biases == Biases::qkv) needed["qk_norm"] = false;
  }
  if (gpt2) needed["tied_output"] = true;
  if (!neox || c.residual_form == ResidualForm::shared_norm) needed["residual_form"] = neox ? "parallel" : "sequential";
  std::string lines = differences(c.to_json(), needed);
  const bool window = c.attention.kind == AttentionKind::window && family == DecoderFamily::mistral;
  if (c.attention.kind != AttentionKind::softmax && !window)
    lines += concat("\n  attention: expected softmax, got ", enum_name(c.attention.kind));
  if (!gpt2 && c.position.encoding != "rope")
    lines += "\n  position: expected rope, or learned for a GPT-2, got " + c.position.encoding;
  if (c.position.encoding == "rope") lines += decoder_rope_differences(c, family);
  return lines;
}

DecoderFamily most_similar_family(const EncoderOnlyConfig& c) {
  if (c.position.encoding == "learned") return DecoderFamily::gpt2;
  if (c.norm_type == NormType::layer) return DecoderFamily::gpt_neox;
  if (c.biases == Biases::qkv) return DecoderFamily::qwen2;
  if (c.qk_norm) return DecoderFamily::qwen3;
  return c.attention.kind == AttentionKind::window ? DecoderFamily::mistral : DecoderFamily::llama;
}

}  // namespace

std::vector<std::string> decoder_architectures() {
  std::vector<std::string> names;
  for (const DecoderArchitecture& a : kDecoderArchitectures) names.insert(names.end(), {a.name, a.bare_name});
  return names;
}

std::optional<DecoderFamily> decoder_family_of(const Json& json) {
  for (const DecoderArchitecture& a : kDecoderArchitectures) {
    const Json named = json.value("architectures", Json());
    if (named == Json::array({a.name}) || named == Json::array({a.bare_name})) return a.family;
  }
  return std::nullopt;
}

std::string decoder_differences(const EncoderOnlyConfig& config) {
  return unsupported_fields(config, most_similar_family(config));
}

DecoderFamily decoder_family_of(const EncoderOnlyConfig& config) {
  const DecoderFamily family = most_similar_family(config);
  const std::string lines = unsupported_fields(config, family);
  require(lines.empty(), "[hugging face] this model is not a ", architecture_of(family).name, ":", lines);
  return family;
}

bool has_fused_projections(const EncoderOnlyConfig& config) {
  if (!config.causal) return false;
  const DecoderFamily family = most_similar_family(config);
  return family == DecoderFamily::gpt_neox || family == DecoderFamily::gpt2;
}

EncoderOnlyConfig read_decoder_config(const Json& json, DecoderFamily family, const std::string& context) {
  const DecoderArchitecture& architecture = architecture_of(family);
  const Json type = json.value("model_type", Json(architecture.model_type));
  require(type == architecture.model_type, context, "model_type: expected \"", architecture.model_type, "\" as the ",
          "architecture is ", architecture.name, ", got ", cut_for_message(type.dump()));
  require_fixed(json, fixed_keys(family), context);
  Json given = without_nulls(json);
  rename_activation_from_theirs(given, activation_key(family));
  EncoderOnlyConfig config = default_config(family);
  try {
    ConfigReader reader(given, "config");
    visit_keys(family, reader, config);
    visit_keys(family, kBound, config);
    const bool has_groups = !json.value("num_key_value_heads", Json(0)).is_null();  // null: as many as heads
    config.kv_heads = has_groups && config.kv_heads != config.heads ? config.kv_heads : 0;
    read_widths(given, family, config);
    require(config.heads > 0 && (config.head_dim > 0 || config.dim % config.heads == 0),
            "[config] the number of heads, ", config.heads, ", must divide the width, ", config.dim);
    const int64_t positions = config.position.get<PositionTableOptions>().max_positions;
    require(positions >= 1, context, family == DecoderFamily::gpt2 ? "n_positions" : "max_position_embeddings",
            ": expected at least 1, got ", positions);
    if (family == DecoderFamily::mistral) read_window(json, config);
    check_layer_types(given, config, context);
    if (family != DecoderFamily::gpt2) read_decoder_rope(given, family, config, context);
    if (family == DecoderFamily::gpt_neox) {
      bool parallel = true;
      reader("use_parallel_residual", parallel);
      config.residual_form = parallel ? ResidualForm::parallel : ResidualForm::sequential;
    }
    config.validate();
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.starts_with(context)) throw;
    throw Error(context, what, keys_behind(json, what));
  }
  return config;
}

Json decoder_config(const EncoderOnlyConfig& config) {
  const DecoderFamily family = decoder_family_of(config);
  const DecoderArchitecture& architecture = architecture_of(family);
  EncoderOnlyConfig complete = config;
  complete.kv_heads = config.key_heads();
  ConfigWriter writer;
  Json& json = writer.json;
  json["architectures"] = {architecture.name};
  json["model_type"] = architecture.model_type;
  visit_keys(family, writer, complete);
  rename_activation_to_theirs(json, activation_key(family));
  json.update(fixed_keys(family));
  if (family == DecoderFamily::gpt2) json["embd_pdrop"] = config.dropout;
  if (has_head_dim(family) && (family != DecoderFamily::qwen2 || config.head_dim > 0))
    json["head_dim"] = config.head_width();
  if (family == DecoderFamily::gpt_neox) json["use_parallel_residual"] = config.residual_form == ResidualForm::parallel;
  if (family == DecoderFamily::mistral) json["sliding_window"] = config.attention.window;
  if (family != DecoderFamily::gpt2) write_decoder_rope(config, family, json);
  json["dtype"] = "float32";
  return json;
}

}  // namespace gyre
