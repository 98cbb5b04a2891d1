#include "gyre/models/hugging_face/marian.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/models/config/config_json.h"
#include "gyre/models/hugging_face/json_fields.h"
#include "gyre/models/hugging_face/tensor_checks.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/sinusoidal.h"

namespace gyre {
namespace {

constexpr const char* kMarianActivation = "activation_function";
constexpr const char* kBias = "final_logits_bias";
constexpr const char *kEncoderPositions = "model.encoder.embed_positions.weight",
                     *kDecoderPositions = "model.decoder.embed_positions.weight";
// The shared table; the others repeat it.
constexpr const char* kTables[] = {"model.shared.weight", "model.encoder.embed_tokens.weight",
                                   "model.decoder.embed_tokens.weight", "lm_head.weight"};

// The fields that Gyre and transformers share, by transformers' names.
constexpr auto kKeys = [](auto& field, auto& c) {
  field("vocab_size", c.vocab_size);
  field("d_model", c.dim);
  field("encoder_layers", c.encoder_layers);
  field("decoder_layers", c.decoder_layers);
  field("encoder_attention_heads", c.heads);
  field("encoder_ffn_dim", c.ffn);
  field(kMarianActivation, c.activation);
  field("dropout", c.dropout);
  field("attention_dropout", c.attention_dropout);
  field("activation_dropout", c.activation_dropout);
  field("max_position_embeddings", c.position.template get<PositionTableOptions>().max_positions);
  field("scale_embedding", c.scale_embedding);
};

// Keys for which MarianMTModel has a single value, or Gyre supports one.
Json fixed_keys() {
  return {{"is_encoder_decoder", true},    {"share_encoder_decoder_embeddings", true},
          {"tie_word_embeddings", true},   {"static_position_embeddings", true},
          {"normalize_before", false},     {"normalize_embedding", false},
          {"add_final_layer_norm", false}, {"add_bias_logits", false}};
}

// The defaults of transformers.
EncoderDecoderConfig default_config() {
  EncoderDecoderConfig config;
  config.vocab_size = 58101;
  config.dim = 1024;
  config.encoder_layers = config.decoder_layers = 12;
  config.heads = 16;
  config.ffn = 4096;
  config.activation = Activation::gelu;
  config.dropout = 0.1;
  config.scale_embedding = false;
  config.output_bias = true;
  config.position = PositionConfig("sinusoidal");
  return config;
}

// Throws unless the decoder has the encoder's value.
void require_same(const Json& json, const char* decoder_key, int64_t of_encoder, int64_t default_value,
                  const std::string& context) {
  const Json got = json.value(decoder_key, Json(default_value));
  require(got == of_encoder, context, decoder_key, ": expected that of the encoder, ", of_encoder, ", got ",
          cut_for_message(got.dump()));
}

// A parameter, or a part of its rows, by the name of transformers.
std::vector<NamedTensor> views_of(const Parameter& p) {
  const std::string name = "model." + p.name;
  const size_t all = name.find(".qkv_proj."), some = name.find(".kv_proj.");
  if (all == name.npos && some == name.npos) return {{name, p.value}};
  const std::string_view parts = all != name.npos ? "qkv" : "kv";
  const size_t at = all != name.npos ? all : some;
  const int64_t rows = p.shape[0] / int64_t(parts.size());
  std::vector<NamedTensor> views;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string part = name;
    part.replace(at + 1, parts.size(), 1, parts[i]);
    views.push_back({part, p.value.slice(int64_t(i) * rows, int64_t(i + 1) * rows)});
  }
  return views;
}

bool is_bias(const Parameter& p) { return p.name == "decoder.output_projection.bias"; }
bool is_table(const Parameter& p) { return p.name == "embed_tokens.weight"; }
bool is_positions(const std::string& name) { return name == kEncoderPositions || name == kDecoderPositions; }

Tensor positions_of(const EncoderDecoderConfig& config, SinusoidLayout layout) {
  const int64_t rows = config.position.get<PositionTableOptions>().max_positions;
  return sinusoid_table(layout, rows, config.dim).to(DType::f32);
}

Tensor positions_of(const EncoderDecoderConfig& config) {
  return positions_of(config, config.position.get<SinusoidalOptions>().layout);
}

// The table of positions in the files; undefined if they have none.
Tensor find_positions(std::span<const SafetensorsFile> files, const char* name, const EncoderDecoderConfig& config) {
  const auto found = find_tensor(files, name);
  if (!found) return {};
  const Shape shape{config.position.get<PositionTableOptions>().max_positions, config.dim};
  require(SafetensorsFile::same_shape(*found->entry, shape), "[hugging face] ", found->file->path().string(),
          ": tensor ", name, ": expected the shape ", shape, " (max_position_embeddings, d_model), got ",
          found->entry->shape_text());
  Tensor table = Tensor::empty(shape);
  found->file->read(*found->entry, table);
  return table;
}

constexpr double kTableTolerance = 2e-3;  // tolerance for tables of 16-bit numbers

// The largest difference between two tables, from a row on.
double difference(const Tensor& a, const Tensor& b, int64_t first_row) {
  const auto x = a.span<float>(), y = b.span<float>();
  double largest = 0;
  for (auto i = size_t(first_row * a.cols()); i < x.size(); ++i) {
    const double d = std::abs(double(x[i]) - double(y[i]));
    largest = d <= largest ? largest : d;  // NaN is the largest
  }
  return largest;
}

float embedding_scale(const EncoderDecoderConfig& config) {
  return config.scale_embedding ? float(std::sqrt(double(config.dim))) : 1.0F;
}

constexpr float kNever = -1000;  // bias of a piece that is never produced, whatever its logit

// Moves what the decoder's table has at position 0 in addition to the sinusoids to the embedding of the piece that
// begins a translation.
void move_first_position(std::span<const SafetensorsFile> files, Parameters& parameters,
                         const EncoderDecoderConfig& config, int start) {
  const Tensor got = find_positions(files, kDecoderPositions, config);
  const Tensor bias = parameters.find("decoder.output_projection.bias")->value.to_cpu();
  const bool is_never_produced = bias.span<float>()[size_t(start)] <= kNever;
  if (!got) {
    require(!is_never_produced, "[hugging face] ", files.front().path().string(), ": expected the tensor ",
            kDecoderPositions, ", whose first row has the embedding that begins a translation, because ", kBias,
            " excludes the piece ", start,
            "; found none: save_pretrained of transformers leaves it out, so import the directory that gyre export "
            "wrote");
    return;
  }
  const Tensor expected = positions_of(config);
  require(difference(got, expected, 1) <= kTableTolerance, "[hugging face] tensor ", kDecoderPositions,
          ": expected the sinusoids of the encoder's table in all rows but the first, got other numbers");
  if (difference(got.slice(0, 1), expected.slice(0, 1), 0) <= kTableTolerance) return;
  require(is_never_produced, "[hugging face] tensor ", kDecoderPositions,
          ": expected a sinusoid in the first row, or a ", kBias, " of at most ", kNever, " for the piece ", start,
          " that begins a translation");
  const Tensor embedding = parameters.find("embed_tokens.weight")->value.slice(start, start + 1);
  const auto row = embedding.span<float>(), x = got.span<float>(), sinusoids = expected.span<float>();
  for (size_t i = 0; i < row.size(); ++i) row[i] += (x[i] - sinusoids[i]) / embedding_scale(config);
}

// The table with a row of zeros for the padding, which may be after the last row.
Tensor with_padding(const Tensor& table, int pad) {
  Tensor copy = Tensor::zeros({std::max<int64_t>(table.dim(0), pad + 1), table.dim(1)});
  copy.slice(0, table.dim(0)).copy_from(table.to_cpu());
  copy.slice(pad, pad + 1).zero();
  return copy;
}

// The decoder's table of positions, whose first row has the embedding of bos too.
Tensor decoder_positions(const Tensor& table, const EncoderDecoderConfig& config, int bos) {
  Tensor positions = positions_of(config);
  const Tensor row = table.slice(bos, bos + 1).to_cpu();
  const auto first = positions.slice(0, 1).span<float>(), start = row.span<float>();
  for (size_t i = 0; i < first.size(); ++i) first[i] += start[i] * embedding_scale(config);
  return positions;
}

// own: the bias of the model; undefined: none.
Tensor final_bias(const Tensor& own, const EncoderDecoderConfig& config, const MarianIds& ids) {
  constexpr float kPaddingBias = -10000;  // a logit whose exponential is 0, within the range of fp16
  const bool adds_padding = ids.pad == config.vocab_size;
  Tensor bias = Tensor::zeros({1, config.vocab_size + (adds_padding ? 1 : 0)});
  if (own) std::ranges::copy(own.to_cpu().to_vector<float>(), bias.data<float>());
  if (adds_padding) bias.data<float>()[ids.pad] = kPaddingBias;
  return bias;
}

}  // namespace

bool is_marian(const Json& json) {
  return json.is_object() && json.value("architectures", Json()) == Json::array({kMarianArchitecture});
}

EncoderDecoderConfig read_marian_config(const Json& given, const std::string& context) {
  require(given.value("model_type", Json("marian")) == "marian", context, "model_type: expected \"marian\" as the ",
          "architecture is ", kMarianArchitecture, ", got ", cut_for_message(given.value("model_type", Json()).dump()));
  require_fixed(given, fixed_keys(), context);
  Json json = without_nulls(given);
  rename_activation_from_theirs(json, kMarianActivation);
  EncoderDecoderConfig config = default_config();
  const EncoderDecoderConfig defaults = config;
  try {
    ConfigReader reader(json, "config");
    kKeys(reader, config);
    kKeys(kBound, config);
    config.validate();
  } catch (const Error& error) {
    throw Error(context, error.what(), keys_behind(json, error.what()));
  }
  require_same(json, "decoder_attention_heads", config.heads, defaults.heads, context);
  require_same(json, "decoder_ffn_dim", config.ffn, defaults.ffn, context);
  require_same(json, "decoder_vocab_size", config.vocab_size, config.vocab_size, context);
  return config;
}

MarianIds read_marian_ids(const Json& json, const std::string& context) {
  constexpr int kPadding = 58100;  // the default of transformers
  const auto id_of = [&](const char* key, int otherwise) {
    const Json id = json.value(key, Json());
    if (id.is_null()) return otherwise;
    require(id.is_number_unsigned() && id.get<uint64_t>() <= uint64_t(kMaxDimension), context, key,
            ": expected an id, got ", cut_for_message(id.dump()));
    return id.get<int>();
  };
  return {.unk = -1,
          .bos = id_of("decoder_start_token_id", kPadding),
          .eos = id_of("eos_token_id", 0),
          .pad = id_of("pad_token_id", kPadding)};
}

Json marian_config(const EncoderDecoderConfig& config, const MarianIds& ids) {
  Json needed{{"norm", "post"}, {"layer_norm_epsilon", 1e-5}, {"tied_embeddings", true}, {"tied_output", true}};
  Json own = config.to_json();
  needed["position"] = "sinusoidal";
  own["position"] = config.position.encoding;
  const std::string lines = differences(own, needed);
  require(lines.empty(), "[hugging face] this model cannot be exported as a MarianMTModel: ", on_one_line(lines));
  ConfigWriter writer;
  writer.json["architectures"] = {kMarianArchitecture};
  writer.json["model_type"] = "marian";
  EncoderDecoderConfig written = config;
  written.vocab_size = std::max<int64_t>(config.vocab_size, ids.pad + 1);
  kKeys(writer, written);
  rename_activation_to_theirs(writer.json, kMarianActivation);
  writer.json["decoder_attention_heads"] = config.heads;
  writer.json["decoder_ffn_dim"] = config.ffn;
  writer.json["decoder_vocab_size"] = written.vocab_size;
  writer.json["num_hidden_layers"] = config.encoder_layers;
  writer.json.update(fixed_keys());
  writer.json["bos_token_id"] = nullptr;
  writer.json.update({{"eos_token_id", ids.eos},
                      {"forced_eos_token_id", ids.eos},
                      {"pad_token_id", ids.pad},
                      {"decoder_start_token_id", ids.pad}});
  writer.json["dtype"] = "float32";
  return writer.json;
}

Json marian_generation_config(const EncoderDecoderConfig& config, const MarianIds& ids) {
  Json never = Json::array({Json::array({ids.pad})});
  if (ids.bos != ids.pad && ids.bos != ids.eos) never.push_back(Json::array({ids.bos}));
  if (ids.unk >= 0) never.push_back(Json::array({ids.unk}));
  return {{"_from_model_config", false},
          {"bad_words_ids", never},
          {"decoder_start_token_id", ids.pad},
          {"early_stopping", true},
          {"eos_token_id", ids.eos},
          {"forced_eos_token_id", ids.eos},
          {"length_penalty", 0.6},
          {"max_length", config.position.get<PositionTableOptions>().max_positions},
          {"num_beams", 4},
          {"pad_token_id", ids.pad}};
}

void find_marian_positions(std::span<const SafetensorsFile> files, EncoderDecoderConfig& config) {
  SinusoidLayout& layout = config.position.get<SinusoidalOptions>().layout;
  layout = SinusoidLayout::transformers;
  const Tensor got = find_positions(files, kEncoderPositions, config);
  if (!got) return;
  double smallest = std::numeric_limits<double>::infinity();
  for (const auto& [candidate, name] : kEnumNames<SinusoidLayout>) {
    if (candidate == SinusoidLayout::half_split && config.dim < 4) continue;
    const double distance = difference(got, positions_of(config, candidate), 0);
    if (!(distance < smallest)) continue;
    smallest = distance;
    layout = candidate;
  }
  require(smallest <= kTableTolerance, "[hugging face] tensor ", kEncoderPositions,
          ": expected sinusoids of base 10000, got other numbers");
}

TensorReport read_marian_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                 const EncoderDecoderConfig& config, int start) {
  const auto table =
      std::ranges::find_if(kTables, [&](const char* name) { return find_tensor(files, name).has_value(); });
  const auto target_name = [&](const std::string& name) -> std::string {
    const bool repeats = table != std::end(kTables) && name != *table && std::ranges::count(kTables, name) > 0;
    return repeats || is_positions(name) ? "" : name;
  };
  std::vector<TensorRequest> requests;
  const auto request = [&](const std::string& name, const Tensor& into) {
    requests.push_back({name, into.shape(), [into](const SafetensorsFile& file, const SafetensorsEntry& entry) {
                          file.read(entry, into);
                        }});
  };
  for (const Parameter& p : parameters) {
    if (is_table(p)) {
      request(table == std::end(kTables) ? kTables[0] : *table, p.value);
    } else if (is_bias(p)) {
      if (find_tensor(files, kBias)) request(kBias, p.value.reshape({1, p.value.dim(0)}));
    } else {
      for (const auto& [name, view] : views_of(p)) request(name, view);
    }
  }
  load_tensors(files, requests, target_name);
  require_finite(files, target_name);
  for (const char* name : kTables)
    require_repeats(files, name, parameters.find("embed_tokens.weight")->value, 0, "the same as the shared table");
  move_first_position(files, parameters, config, start);
  TensorReport report;
  add_tensors(files, target_name, report);
  return report;
}

std::vector<NamedTensor> marian_tensors(const Parameters& parameters, const EncoderDecoderConfig& config,
                                        const MarianIds& ids) {
  std::vector<NamedTensor> tensors;
  Tensor table, own_bias;
  for (const Parameter& p : parameters) {
    if (is_bias(p)) {
      own_bias = p.value;
    } else if (is_table(p)) {
      table = p.value;
    } else {
      for (NamedTensor& view : views_of(p)) tensors.push_back(std::move(view));
    }
  }
  const Tensor bias = final_bias(own_bias, config, ids);
  // Without this bias, the row of the padding belongs to a logit.
  const bool starts_with_zeros = bias.span<float>()[size_t(ids.pad)] <= kNever;
  tensors.push_back({kTables[0], starts_with_zeros ? with_padding(table, ids.pad) : table});
  tensors.push_back({kEncoderPositions, positions_of(config)});
  tensors.push_back(
      {kDecoderPositions, starts_with_zeros ? decoder_positions(table, config, ids.bos) : positions_of(config)});
  tensors.push_back({kBias, bias});
  return tensors;
}

}  // namespace gyre
