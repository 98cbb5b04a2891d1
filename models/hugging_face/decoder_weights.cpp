#include "gyre/models/hugging_face/decoder_weights.h"

#include <algorithm>
#include <numeric>

#include "gyre/models/hugging_face/decoder_config.h"
#include "gyre/models/hugging_face/finite_weights.h"
#include "gyre/models/position/rope.h"

namespace gyre {
namespace {

// Names of modules; '#' stands for the number of a layer. A module of ours can be several of theirs, whose names are
// separated by commas: their rows follow one another.
struct DecoderModule {
  std::string_view ours, llama, gpt_neox, gpt2;
  std::string_view theirs(DecoderFamily family) const {
    return family == DecoderFamily::gpt2 ? gpt2 : family == DecoderFamily::gpt_neox ? gpt_neox : llama;
  }
};
constexpr DecoderModule kDecoderModules[] = {
    {"embed_tokens", "model.embed_tokens", "gpt_neox.embed_in", "transformer.wte"},
    {"encoder.embed_positions", "", "", "transformer.wpe"},
    {"encoder.layers.#.self_attn.qkv_proj",
     "model.layers.#.self_attn.q_proj,model.layers.#.self_attn.k_proj,model.layers.#.self_attn.v_proj",
     "gpt_neox.layers.#.attention.query_key_value", "transformer.h.#.attn.c_attn"},
    {"encoder.layers.#.self_attn.q_norm", "model.layers.#.self_attn.q_norm", "", ""},
    {"encoder.layers.#.self_attn.k_norm", "model.layers.#.self_attn.k_norm", "", ""},
    {"encoder.layers.#.self_attn.out_proj", "model.layers.#.self_attn.o_proj", "gpt_neox.layers.#.attention.dense",
     "transformer.h.#.attn.c_proj"},
    {"encoder.layers.#.self_attn_layer_norm", "model.layers.#.input_layernorm", "gpt_neox.layers.#.input_layernorm",
     "transformer.h.#.ln_1"},
    {"encoder.layers.#.fc1", "model.layers.#.mlp.gate_proj,model.layers.#.mlp.up_proj",
     "gpt_neox.layers.#.mlp.dense_h_to_4h", "transformer.h.#.mlp.c_fc"},
    {"encoder.layers.#.fc2", "model.layers.#.mlp.down_proj", "gpt_neox.layers.#.mlp.dense_4h_to_h",
     "transformer.h.#.mlp.c_proj"},
    {"encoder.layers.#.final_layer_norm", "model.layers.#.post_attention_layernorm",
     "gpt_neox.layers.#.post_attention_layernorm", "transformer.h.#.ln_2"},
    {"encoder.layer_norm", "model.norm", "gpt_neox.final_layer_norm", "transformer.ln_f"},
    {"lm_head", "lm_head", "embed_out", "lm_head"},
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
  explicit Parts(const EncoderOnlyConfig& config) : config_(config), family_(decoder_family_of(config)) {}

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
      const bool transposed = family_ == DecoderFamily::gpt2 && p.shape.rank() == 2 &&
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
    for (const char c : found->theirs(family_)) {
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
    if (family_ == DecoderFamily::gpt_neox) {
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
    if (config_.position.encoding != "rope" || rope.pairs == RotaryPairs::half_split) return rows;
    const int64_t dims = rope.rotary_dims > 0 ? rope.rotary_dims : config_.head_width();
    for (int64_t j = 0; j < dims; ++j) rows[size_t(j)] = first + (j < dims / 2 ? 2 * j : 2 * (j - dims / 2) + 1);
    return rows;
  }

  static void append(Rows& to, const Rows& from) { to.insert(to.end(), from.begin(), from.end()); }

  const EncoderOnlyConfig& config_;
  DecoderFamily family_;
};

// The tensor of Hugging Face, copied from the parameter.
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
  const std::string_view table = kDecoderModules[0].theirs(family);
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

}  // namespace

std::vector<NamedTensor> decoder_tensors(const Parameters& parameters, const EncoderOnlyConfig& config) {
  std::vector<NamedTensor> tensors;
  for (const Part& part : Parts(config).of(parameters))
    tensors.push_back({part.theirs, part.is_view() ? part.view() : converted(part)});
  return tensors;
}

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
  for (const SafetensorsFile& file : files) {
    report.unlisted.insert(report.unlisted.end(), file.left_out().begin(), file.left_out().end());
    for (const auto& entry : file.entries()) {
      if (target_name(entry.name).empty()) {
        report.repeats.push_back(entry.name);
      } else {
        ++report.read;
      }
    }
  }
  return report;
}

}  // namespace gyre
