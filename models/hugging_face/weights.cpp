#include "gyre/models/hugging_face/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/models/hugging_face/decoder_config.h"
#include "gyre/models/hugging_face/tensor_checks.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"
#include "gyre/models/sequence_classifier.h"

namespace gyre {
namespace {

// ---- Causal models -------------------------------------------------------------------------------------------------
// Converts the parameters of causal models to and from the tensors of Hugging Face's LLaMA, Mistral, Qwen2, Qwen3,
// GPT-NeoX and GPT-2 (names as in transformers' modeling_llama.py, modeling_gpt_neox.py and modeling_gpt2.py), and to
// those of llama.cpp's GGUF files (names as in constants.py of its package gguf).
//
// In Hugging Face's files, GPT-2 stores the weights of its layers transposed, GPT-NeoX stores queries, keys and values
// head by head, and all rotate the pairs (i, i + dims/2) of RoPE; a model with interleaved pairs is written with the
// features of its queries and keys in that order. In GGUF, weights are (outputs, inputs), the queries of all heads
// precede the keys, and a LLaMA rotates adjacent pairs.

enum class DecoderFormat : uint8_t { hugging_face, gguf };

// Names of modules; '#' stands for the number of a layer. A module of ours can be several of theirs, whose names are
// separated by commas: their rows follow one another.
struct DecoderModule {
  std::string_view ours, llama, gpt_neox, gpt2;
  std::string_view gguf;             // name in a LLaMA's file
  std::string_view gguf_whole = {};  // name in the files of GPT-NeoX and GPT-2; empty: the same
  std::string_view theirs(DecoderFamily family, DecoderFormat format) const {
    const bool is_llama = family != DecoderFamily::gpt2 && family != DecoderFamily::gpt_neox;
    if (format == DecoderFormat::gguf) return is_llama || gguf_whole.empty() ? gguf : gguf_whole;
    return is_llama ? llama : family == DecoderFamily::gpt2 ? gpt2 : gpt_neox;
  }
};

constexpr DecoderModule kDecoderModules[] = {
    {"embed_tokens", "model.embed_tokens", "gpt_neox.embed_in", "transformer.wte", "token_embd"},
    {"encoder.embed_positions", "", "", "transformer.wpe", "position_embd"},
    {"encoder.layers.#.self_attn.qkv_proj",
     "model.layers.#.self_attn.q_proj,model.layers.#.self_attn.k_proj,model.layers.#.self_attn.v_proj",
     "gpt_neox.layers.#.attention.query_key_value", "transformer.h.#.attn.c_attn",
     "blk.#.attn_q,blk.#.attn_k,blk.#.attn_v", "blk.#.attn_qkv"},
    {"encoder.layers.#.self_attn.q_norm", "model.layers.#.self_attn.q_norm", "", "", "blk.#.attn_q_norm"},
    {"encoder.layers.#.self_attn.k_norm", "model.layers.#.self_attn.k_norm", "", "", "blk.#.attn_k_norm"},
    {"encoder.layers.#.self_attn.out_proj", "model.layers.#.self_attn.o_proj", "gpt_neox.layers.#.attention.dense",
     "transformer.h.#.attn.c_proj", "blk.#.attn_output"},
    {"encoder.layers.#.self_attn_layer_norm", "model.layers.#.input_layernorm", "gpt_neox.layers.#.input_layernorm",
     "transformer.h.#.ln_1", "blk.#.attn_norm"},
    {"encoder.layers.#.fc1", "model.layers.#.mlp.gate_proj,model.layers.#.mlp.up_proj",
     "gpt_neox.layers.#.mlp.dense_h_to_4h", "transformer.h.#.mlp.c_fc", "blk.#.ffn_gate,blk.#.ffn_up", "blk.#.ffn_up"},
    {"encoder.layers.#.fc2", "model.layers.#.mlp.down_proj", "gpt_neox.layers.#.mlp.dense_4h_to_h",
     "transformer.h.#.mlp.c_proj", "blk.#.ffn_down"},
    {"encoder.layers.#.final_layer_norm", "model.layers.#.post_attention_layernorm",
     "gpt_neox.layers.#.post_attention_layernorm", "transformer.h.#.ln_2", "blk.#.ffn_norm"},
    {"encoder.layer_norm", "model.norm", "gpt_neox.final_layer_norm", "transformer.ln_f", "output_norm"},
    {"lm_head", "lm_head", "embed_out", "lm_head", "output"},
};

using Rows = std::vector<int64_t>;

// A tensor of theirs: some rows of a parameter, in their order. `transposed`: it is (columns, rows).
struct Part {
  std::string theirs;
  const Parameter* parameter;
  Rows rows;
  bool transposed;

  bool is_view() const {
    for (size_t i = 1; i < rows.size(); ++i)
      if (rows[i] != rows[0] + int64_t(i)) return false;
    return !transposed;
  }
  Tensor view() const { return parameter->value.slice(rows.front(), rows.front() + int64_t(rows.size())); }
  int64_t columns() const { return parameter->shape.rank() == 2 ? parameter->shape[1] : 1; }
  Shape shape() const {
    if (parameter->shape.rank() == 1) return {int64_t(rows.size())};
    return transposed ? Shape{columns(), int64_t(rows.size())} : Shape{int64_t(rows.size()), columns()};
  }
  // Calls f(element of theirs, element of the parameter) for every element.
  template <class F>
  void for_each_element(const F& f) const {
    const int64_t width = columns(), count = int64_t(rows.size());
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < width; ++j) f(transposed ? j * count + i : i * width + j, rows[size_t(i)] * width + j);
  }
};

Rows range(int64_t first, int64_t count) {
  Rows rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

// The parts of the parameters of a model.
class Parts {
 public:
  explicit Parts(const EncoderOnlyConfig& config, DecoderFormat format = DecoderFormat::hugging_face)
      : config_(config), family_(decoder_family_of(config)), format_(format) {}

  std::vector<Part> of(const Parameters& parameters) const {
    std::vector<Part> all;
    for (const Parameter& p : parameters) {
      for (Part& part : parts_of(p)) all.push_back(std::move(part));
    }
    return all;
  }

 private:
  std::vector<Part> parts_of(const Parameter& p) const {
    const auto [module, names] = module_of(p);
    const std::string kind = p.name.substr(p.name.rfind('.'));
    std::vector<Part> parts;
    for (const auto& [name, rows] : split(module, names, p.shape[0])) {
      const bool transposed = format_ == DecoderFormat::hugging_face && family_ == DecoderFamily::gpt2 &&
                              p.shape.rank() == 2 &&
                              (module.find("_proj") != module.npos || module.find(".fc") != module.npos);
      parts.push_back({name + kind, &p, rows, transposed});
    }
    return parts;
  }

  // Our name of the module with '#' in place of the layer's number, and theirs with the number.
  std::pair<std::string, std::vector<std::string>> module_of(const Parameter& p) const {
    std::string module = p.name.substr(0, p.name.rfind('.')), number;
    constexpr std::string_view kLayers = "encoder.layers.";
    if (module.starts_with(kLayers)) {
      number = module.substr(kLayers.size(), module.find('.', kLayers.size()) - kLayers.size());
      module.replace(kLayers.size(), number.size(), "#");
    }
    const auto found = std::find_if(std::begin(kDecoderModules), std::end(kDecoderModules),
                                    [&](const DecoderModule& names) { return names.ours == module; });
    require(found != std::end(kDecoderModules), "[hugging face] ", p.name,
            " has no counterpart in Hugging Face's models");
    std::vector<std::string> names(1);
    for (const char c : found->theirs(family_, format_)) {
      if (c == ',') {
        names.emplace_back();
      } else if (c == '#') {
        names.back() += number;
      } else {
        names.back() += c;
      }
    }
    return {module, names};
  }

  std::vector<std::pair<std::string, Rows>> split(const std::string& module, const std::vector<std::string>& names,
                                                  int64_t rows) const {
    if (module.ends_with(".qkv_proj")) return split_projections(names);
    if (module.ends_with("q_norm") || module.ends_with("k_norm")) return {{names[0], rotated_order(0)}};
    std::vector<std::pair<std::string, Rows>> parts;
    const int64_t each = rows / int64_t(names.size());
    for (size_t i = 0; i < names.size(); ++i) parts.emplace_back(names[i], range(int64_t(i) * each, each));
    return parts;
  }

  std::vector<std::pair<std::string, Rows>> split_projections(const std::vector<std::string>& names) const {
    const int64_t width = config_.head_width(), qd = config_.query_dim(), kd = config_.key_dim();
    Rows parts[3];  // queries, keys, values
    for (int64_t head = 0; head < config_.heads; ++head) append(parts[0], rotated_order(head * width));
    for (int64_t head = 0; head < config_.key_heads(); ++head) append(parts[1], rotated_order(qd + head * width));
    parts[2] = range(qd + kd, kd);
    if (names.size() == 3) return {{names[0], parts[0]}, {names[1], parts[1]}, {names[2], parts[2]}};
    Rows together;
    if (family_ == DecoderFamily::gpt_neox && format_ == DecoderFormat::hugging_face) {
      for (int64_t head = 0; head < config_.heads; ++head)
        for (const Rows& part : parts)
          together.insert(together.end(), part.begin() + head * width, part.begin() + (head + 1) * width);
    } else {
      for (const Rows& part : parts) append(together, part);
    }
    return {{names[0], together}};
  }

  // The features of a head whose first row is `first`, in the order in which they are paired for the rotation.
  Rows rotated_order(int64_t first) const {
    Rows rows = range(first, config_.head_width());
    const auto& rope = config_.position.get<RopeOptions>();
    if (config_.position.encoding != "rope" || rope.pairs == their_pairs()) return rows;
    const int64_t dims = rope.rotary_dims > 0 ? rope.rotary_dims : config_.head_width();
    for (int64_t j = 0; j < dims / 2; ++j) {
      const bool to_halves = rope.pairs == RotaryPairs::interleaved;
      rows[size_t(to_halves ? j : 2 * j)] = first + (to_halves ? 2 * j : j);
      rows[size_t(to_halves ? j + dims / 2 : 2 * j + 1)] = first + (to_halves ? 2 * j + 1 : j + dims / 2);
    }
    return rows;
  }

  RotaryPairs their_pairs() const {
    const bool is_llama = family_ == DecoderFamily::llama || family_ == DecoderFamily::mistral;
    return format_ == DecoderFormat::gguf && is_llama ? RotaryPairs::interleaved : RotaryPairs::half_split;
  }

  static void append(Rows& to, const Rows& from) { to.insert(to.end(), from.begin(), from.end()); }

  const EncoderOnlyConfig& config_;
  DecoderFamily family_;
  DecoderFormat format_;
};

// The tensor of their format, copied from the parameter.
Tensor converted(const Part& part) {
  const Tensor value = part.parameter->value.to_cpu();
  Tensor tensor = Tensor::empty(part.shape());
  const auto from = value.span<float>(), to = tensor.span<float>();
  part.for_each_element([&](int64_t theirs, int64_t ours) { to[size_t(theirs)] = from[size_t(ours)]; });
  return tensor;
}

void read_part(const Part& part, const SafetensorsFile& file, const SafetensorsEntry& entry) {
  if (part.is_view()) return file.read(entry, part.view());
  const Tensor tensor = Tensor::empty(part.shape()), value = part.parameter->value.to_cpu();
  file.read(entry, tensor);
  const auto from = tensor.span<float>(), to = value.span<float>();
  part.for_each_element([&](int64_t theirs, int64_t ours) { to[size_t(ours)] = from[size_t(theirs)]; });
  part.parameter->value.copy_from(value);
}

// The output projection, which a file may repeat if it is the embedding table.
bool is_output(const std::string& name) { return name == "lm_head.weight" || name == "embed_out.weight"; }

bool find_output(std::span<const SafetensorsFile> files) {
  return std::any_of(files.begin(), files.end(), [](const SafetensorsFile& file) {
    return std::any_of(file.entries().begin(), file.entries().end(),
                       [](const SafetensorsEntry& entry) { return is_output(entry.name); });
  });
}

// The prefix of the family's names if the files lack it, as those of a bare model do, or else nothing.
std::string missing_prefix(std::span<const SafetensorsFile> files, DecoderFamily family) {
  const std::string_view table = kDecoderModules[0].theirs(family, DecoderFormat::hugging_face);
  const std::string prefix(table.substr(0, table.find('.') + 1));
  const std::string bare = concat(table.substr(prefix.size()), ".weight");
  const bool lacks =
      std::any_of(files.begin(), files.end(), [&](const SafetensorsFile& file) { return file.find(bare) != nullptr; });
  return lacks ? prefix : "";
}

// Constant tensors of older files.
bool is_constant(const std::string& name) {
  const auto ends = [&](std::string_view with) { return name.ends_with(with); };
  return ends("rotary_emb.inv_freq") || ends("rotary_emb.original_inv_freq") || ends("rotary_emb.cos_cached") ||
         ends("rotary_emb.sin_cached") || ends("position_ids") || ends(".attn.bias") || ends(".attn.masked_bias") ||
         ends(".attention.bias") || ends(".attention.masked_bias");
}

// Throws unless the output projection of a file is the embedding table, if the model shares them.
void require_tied(std::span<const SafetensorsFile> files, const Parameters& parameters) {
  for (const SafetensorsFile& file : files) {
    for (const SafetensorsEntry& entry : file.entries()) {
      if (!is_output(entry.name)) continue;
      const Tensor expected = parameters.begin()->value.to_cpu(), got = Tensor::empty(expected.shape());
      file.read(entry, got);
      require(std::ranges::equal(got.span<float>(), expected.span<float>()), "[hugging face] ", file.path().string(),
              ": tensor ", entry.name, ": expected the same as the embeddings, because tie_word_embeddings is true");
    }
  }
}

// The tensors of an exported file: views of the parameters' values, or converted copies.
std::vector<NamedTensor> decoder_tensors(const Parameters& parameters, const EncoderOnlyConfig& config,
                                         DecoderFormat format = DecoderFormat::hugging_face) {
  std::vector<NamedTensor> tensors;
  for (const Part& part : Parts(config, format).of(parameters))
    tensors.push_back({part.theirs, part.is_view() ? part.view() : converted(part)});
  return tensors;
}

// Reads the parameters of a model with this config. The names of a bare model lack the prefix ("model."), and the
// output projection that it lacks keeps its values unless it is the embedding table. Ignores the constant tensors of
// older files (masks, frequencies); a repeated embedding table must agree. Throws as read_hugging_face_weights().
TensorReport read_decoder_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                  const EncoderOnlyConfig& config) {
  const std::string prefix = missing_prefix(files, decoder_family_of(config));
  const bool has_output = find_output(files);
  const auto target_name = [&](const std::string& name) -> std::string {
    if (is_constant(name) || (config.tied_output && is_output(name))) return "";
    return is_output(name) ? name : prefix + name;
  };
  TensorReport report;
  std::vector<TensorRequest> requests;
  for (const Part& part : Parts(config).of(parameters)) {
    if (!prefix.empty() && !has_output && is_output(part.theirs)) {  // the head keeps its initial values
      report.initialized.push_back(part.parameter->name);
      continue;
    }
    requests.push_back({part.theirs, part.shape(), [part](const SafetensorsFile& file, const SafetensorsEntry& entry) {
                          read_part(part, file, entry);
                        }});
  }
  load_tensors(files, requests, target_name);
  require_finite(files, target_name);
  if (config.tied_output) require_tied(files, parameters);
  add_tensors(files, target_name, report);
  return report;
}

// The names of tensors in files: those of a family, with the prefix of the encoder.
struct Naming {
  HuggingFaceFamily family;
  std::string prefix;  // "bert.", or empty

  explicit Naming(HuggingFaceFamily of) : family(of), prefix(concat(family_name(of), ".")) {}
  // The prefix is the family's, except in files that store a NEZHA as a BERT, and in those of a bare encoder, which
  // have none.
  Naming(HuggingFaceFamily of, std::span<const SafetensorsFile> files) : Naming(of) {
    const std::vector<std::string> others =
        of == HuggingFaceFamily::nezha ? std::vector<std::string>{"bert.", ""} : std::vector<std::string>{""};
    for (const std::string& other : others) {
      const auto uses_other = [&](const SafetensorsFile& file) {
        return file.find(other + "embeddings.word_embeddings.weight") != nullptr;
      };
      if (std::any_of(files.begin(), files.end(), uses_other)) prefix = other;
    }
  }
};

// Names of modules; each module has .weight, .bias or both. '@' stands for the prefix, '#' for the number of a layer,
// and '*' for query, key and value. An empty name for RoFormer means that it is the same as BERT's.
struct EncoderModule {
  std::string_view ours, bert, roformer = {};
  std::string_view theirs(HuggingFaceFamily family) const {
    return family == HuggingFaceFamily::roformer && !roformer.empty() ? roformer : bert;
  }
};
constexpr EncoderModule kEncoderModules[] = {
    {"embed_tokens", "@embeddings.word_embeddings"},
    {"embed_token_types", "@embeddings.token_type_embeddings"},
    {"encoder.embed_positions", "@embeddings.position_embeddings"},
    {"encoder.layernorm_embedding", "@embeddings.LayerNorm"},
    {"encoder.embeddings_project", "@embeddings_project"},
    {"encoder.layers.#.self_attn.qkv_proj", "@encoder.layer.#.attention.self.*"},
    {"encoder.layers.#.self_attn.out_proj", "@encoder.layer.#.attention.output.dense"},
    {"encoder.layers.#.self_attn_layer_norm", "@encoder.layer.#.attention.output.LayerNorm"},
    {"encoder.layers.#.fc1", "@encoder.layer.#.intermediate.dense"},
    {"encoder.layers.#.fc2", "@encoder.layer.#.output.dense"},
    {"encoder.layers.#.final_layer_norm", "@encoder.layer.#.output.LayerNorm"},
    {"lm_head.dense", "cls.predictions.transform.dense"},
    {"lm_head.layer_norm", "cls.predictions.transform.LayerNorm"},
    {"lm_head", "cls.predictions"},
    {"classification_head.dense", "@pooler.dense", "classifier.dense"},
    {"classification_head.out_proj", "classifier", "classifier.out_proj"},
};

// Tensors in a file that repeat a parameter of a masked language model.
struct TiedNames {
  const char *ours, *theirs;
};
constexpr TiedNames kTied[] = {{"embed_tokens.weight", "cls.predictions.decoder.weight"},
                               {"lm_head.bias", "cls.predictions.decoder.bias"}};

// Name prefixes of other heads that a file may contain in addition to the model's head.
std::vector<std::string> other_heads(const Parameters& parameters, const Naming& naming) {
  const bool is_classifier = std::any_of(parameters.begin(), parameters.end(),
                                         [](const Parameter& p) { return p.name.starts_with(kClassificationHead); });
  if (is_classifier) return {"cls."};
  return {naming.prefix + "pooler.", "cls.seq_relationship."};
}

std::string replaced(std::string_view text, char mark, std::string_view value) {
  const size_t at = text.find(mark);
  if (at == text.npos) return std::string(text);
  return concat(text.substr(0, at), value, text.substr(at + 1));
}

// The layer number in one of Gyre's parameter names; empty: none.
std::string_view layer_number(std::string_view name) {
  constexpr std::string_view kLayers = "encoder.layers.";
  if (!name.starts_with(kLayers)) return {};
  name.remove_prefix(kLayers.size());
  return name.substr(0, name.find('.'));
}

// Hugging Face's name of a parameter, or the three names of query, key and value. Throws if there is none.
std::vector<std::string> their_names(const std::string& ours, const Naming& naming) {
  const size_t dot = ours.rfind('.');
  const std::string_view module = std::string_view(ours).substr(0, dot), kind = std::string_view(ours).substr(dot);
  const std::string_view layer = layer_number(ours);
  for (const EncoderModule& names : kEncoderModules) {
    if (replaced(names.ours, '#', layer) != module) continue;
    const std::string name =
        replaced(replaced(names.theirs(naming.family), '@', naming.prefix), '#', layer) + std::string(kind);
    if (name.find('*') == name.npos) return {name};
    return {replaced(name, '*', "query"), replaced(name, '*', "key"), replaced(name, '*', "value")};
  }
  throw Error("[hugging face] ", ours, " has no counterpart in Hugging Face's models");
}

std::string rotation_name(const Naming& naming) { return naming.prefix + "encoder.embed_positions.weight"; }
constexpr std::string_view kRelativeVectors =
    ".relative_positions_encoding.positions_encoding";  // suffix of a tensor of each NEZHA layer

// The name of a constant table of positions.
bool is_positions(const std::string& name, const Naming& naming) {
  return naming.family == HuggingFaceFamily::roformer
             ? name == rotation_name(naming)
             : naming.family == HuggingFaceFamily::nezha && name.ends_with(kRelativeVectors);
}

// The prefix of the head of a masked language model.
constexpr std::string_view kPredictions = "cls.predictions.";

bool has_predictions(std::span<const SafetensorsFile> files) {
  return std::any_of(files.begin(), files.end(), [](const SafetensorsFile& file) {
    return std::any_of(file.entries().begin(), file.entries().end(),
                       [](const SafetensorsEntry& entry) { return entry.name.starts_with(kPredictions); });
  });
}

Tensor rotation_table(const EncoderOnlyConfig& config) {
  const int64_t positions = config.position.get<PositionTableOptions>().max_positions,
                width = config.dim / config.heads;
  Tensor table = Tensor::empty({positions, width});
  const int64_t pairs = width / 2;
  float* row = table.data<float>();
  for (int64_t m = 0; m < positions; ++m, row += width) {
    for (int64_t j = 0; j < pairs; ++j) {
      const double angle = double(m) * std::pow(10000.0, -2.0 * double(j) / double(width));
      row[j] = float(std::sin(angle));
      row[pairs + j] = float(std::cos(angle));
    }
  }
  return table;
}

// NEZHA's vectors of the distances n - m, (positions m, positions n, head width).
Tensor relative_vectors(const EncoderOnlyConfig& config) {
  const int64_t positions = config.position.get<PositionTableOptions>().max_positions,
                width = config.dim / config.heads;
  Parameters none;
  const auto encoding = make_position_encoding(
      {.config = config.position, .dim = config.dim, .heads = config.heads, .parameters = none, .name = "positions"});
  Tape tape(cpu_kernels(), {.record = false});
  const PositionTerms terms = encoding->terms(tape, {.longest = positions});
  Tensor vectors = Tensor::empty({positions, positions, width});
  const float* rows = terms.query_table.value().data<float>();
  float* out = vectors.data<float>();
  for (int64_t m = 0; m < positions; ++m)  // the rows of the following keys follow that of key 0
    out = std::copy_n(rows + (terms.zero_offset - m) * width, positions * width, out);
  return vectors;
}

constexpr double kHalfPrecision = 1e-2;  // tolerance for tables of 16-bit numbers; a wrong table differs by 1

// Throws if a constant table of positions in the files is not that of the config.
void require_positions(std::span<const SafetensorsFile> files, const EncoderOnlyConfig& config, const Naming& naming) {
  if (naming.family == HuggingFaceFamily::roformer) {
    const std::string name = rotation_name(naming);
    const Shape shape{config.position.get<PositionTableOptions>().max_positions, config.dim / config.heads};
    const auto found = find_tensor(files, name);  // the table may be large, so it is computed only for such files
    if (!found) return;
    require(SafetensorsFile::same_shape(*found->entry, shape), "[hugging face] ", found->file->path().string(),
            ": tensor ", name, ": expected the shape ", shape, " (max_position_embeddings, width of a head)");
    require_repeats(files, name, rotation_table(config), kHalfPrecision,
                    "rows [sin(m theta_j) | cos(m theta_j)] of base 10000");
    return;
  }
  const int64_t positions = config.position.get<PositionTableOptions>().max_positions;
  const Shape shape{positions, positions, config.dim / config.heads};
  Tensor vectors;  // table of all layers; large, so computed only for files that have it
  for (const SafetensorsFile& file : files) {
    for (const auto& entry : file.entries()) {
      if (!is_positions(entry.name, naming)) continue;
      require(SafetensorsFile::same_shape(entry, shape), "[hugging face] ", file.path().string(), ": tensor ",
              entry.name, ": expected the shape ", shape, " (max_position_embeddings twice, width of a head)");
      if (!vectors) vectors = relative_vectors(config);
      require_repeats(files, entry.name, vectors, kHalfPrecision, "the sinusoids of clipped distances");
    }
  }
}

// Numbers of positions and types, which modules of some versions save although they are no parameters.
bool is_buffer(const std::string& name) {
  return name.ends_with("embeddings.position_ids") || name.ends_with("embeddings.token_type_ids");
}

// Maps the name of a tensor in the files to the name of the view that it is read into; empty: the tensor is ignored.
class TargetNames {
 public:
  TargetNames(std::span<const SafetensorsFile> files, const Naming& naming, std::vector<std::string> other_heads)
      : files_(files), naming_(naming), other_heads_(std::move(other_heads)) {}

  std::string operator()(const std::string& name) const {
    if (is_positions(name, naming_) || is_buffer(name) || of_other_head(name)) return "";
    for (const auto& [ours, theirs] : kTied) {
      if (name != theirs) continue;
      const std::string partner = their_names(ours, naming_).front();
      return find_tensor(files_, partner) ? "" : partner;
    }
    if (name.ends_with(".LayerNorm.gamma")) return name.substr(0, name.size() - 5) + "weight";
    if (name.ends_with(".LayerNorm.beta")) return name.substr(0, name.size() - 4) + "bias";
    return name;
  }

  bool of_other_head(const std::string& name) const {
    return std::any_of(other_heads_.begin(), other_heads_.end(),
                       [&](const std::string& head) { return name.starts_with(head); });
  }

 private:
  std::span<const SafetensorsFile> files_;
  Naming naming_;
  std::vector<std::string> other_heads_;
};

// Views of the parameters' values under Hugging Face's names. Gyre stores the projections of queries, keys and values
// as one matrix; each of their views is a third of it.
std::vector<NamedTensor> views_of(const Parameters& parameters, const Naming& naming) {
  std::vector<NamedTensor> views;
  for (const Parameter& p : parameters) {
    const std::vector<std::string> names = their_names(p.name, naming);
    const int64_t rows = p.shape[0] / int64_t(names.size());
    for (size_t i = 0; i < names.size(); ++i)
      views.push_back({names[i], p.value.slice(int64_t(i) * rows, int64_t(i + 1) * rows)});
  }
  return views;
}

}  // namespace

std::vector<NamedTensor> hugging_face_tensors(const Parameters& parameters, const EncoderOnlyConfig& config) {
  if (config.causal) return decoder_tensors(parameters, config);
  const HuggingFaceFamily family = family_of(config);
  std::vector<NamedTensor> tensors = views_of(parameters, Naming(family));
  if (family == HuggingFaceFamily::roformer) tensors.push_back({rotation_name(Naming(family)), rotation_table(config)});
  return tensors;
}

std::vector<NamedTensor> llama_cpp_tensors(const Parameters& parameters, const EncoderOnlyConfig& config) {
  return decoder_tensors(parameters, config, DecoderFormat::gguf);
}

TensorReport read_hugging_face_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                       const EncoderOnlyConfig& config) {
  if (config.causal) return read_decoder_weights(files, parameters, config);
  const Naming naming(family_of(config), files);
  const TargetNames target_names(files, naming, other_heads(parameters, naming));
  std::vector<NamedTensor> targets = views_of(parameters, naming);
  TensorReport report;
  if (!has_predictions(files)) {  // a bare encoder: the parameters of the head keep their initial values
    for (const Parameter& p : parameters)
      if (their_names(p.name, naming).front().starts_with(kPredictions)) report.initialized.push_back(p.name);
    std::erase_if(targets, [](const NamedTensor& target) { return target.name.starts_with(kPredictions); });
  }
  read_safetensors(files, targets, target_names);
  require_finite(files, target_names);
  for (const auto& [ours, theirs] : kTied) {
    if (target_names.of_other_head(theirs)) continue;
    require_repeats(files, theirs, parameters.find(ours)->value, 0, "the same as " + their_names(ours, naming).front());
  }
  require_positions(files, config, naming);
  for (const SafetensorsFile& file : files) {
    report.unlisted.insert(report.unlisted.end(), file.left_out().begin(), file.left_out().end());
    for (const auto& entry : file.entries()) {
      if (!target_names(entry.name).empty()) {
        ++report.read;
      } else if (target_names.of_other_head(entry.name)) {
        report.of_other_heads.push_back(entry.name);
      } else {
        report.repeats.push_back(entry.name);
      }
    }
  }
  return report;
}

std::vector<HuggingFaceModule> hugging_face_modules(Parameters& parameters, const EncoderOnlyConfig& config) {
  std::vector<HuggingFaceModule> modules;
  const auto add = [&](const Parameter& p, const std::string& tensor, Rows rows) {
    if (p.matrix_rows.empty() || !p.name.ends_with(".weight")) return;
    modules.push_back({tensor.substr(0, tensor.rfind('.')), &parameters[size_t(p.index)], std::move(rows)});
  };
  if (config.causal) {
    for (Part& part : Parts(config).of(parameters)) add(*part.parameter, part.theirs, std::move(part.rows));
    return modules;
  }
  const Naming naming(family_of(config));
  for (const Parameter& p : parameters) {
    const std::vector<std::string> names = their_names(p.name, naming);
    const int64_t rows = p.shape[0] / int64_t(names.size());
    for (size_t i = 0; i < names.size(); ++i) add(p, names[i], range(int64_t(i) * rows, rows));
  }
  return modules;
}

bool stores_transposed(const EncoderOnlyConfig& config) {
  return config.causal && decoder_family_of(config) == DecoderFamily::gpt2;
}

}  // namespace gyre
