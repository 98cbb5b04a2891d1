#include "gyre/models/hugging_face/weights.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gyre/models/hugging_face/decoder_weights.h"
#include "gyre/models/hugging_face/finite_weights.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/sequence_classifier.h"

namespace gyre {
namespace {

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
constexpr std::string_view kRelativeVectors = ".relative_positions_encoding.positions_encoding";  // each NEZHA layer

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

struct Entry {
  const SafetensorsFile* file;
  const SafetensorsEntry* entry;
};
std::optional<Entry> find_entry(std::span<const SafetensorsFile> files, std::string_view name) {
  for (const SafetensorsFile& file : files) {
    if (const auto* entry = file.find(name)) return Entry{&file, entry};
  }
  return std::nullopt;
}

// Throws if a file contains tensor `name` with values that differ from `expected` by more than `tolerance`.
void require_repeats(std::span<const SafetensorsFile> files, const std::string& name, const Tensor& expected,
                     double tolerance, const std::string& what) {
  const auto found = find_entry(files, name);
  if (!found) return;
  const Tensor got = Tensor::empty(expected.shape());
  found->file->read(*found->entry, got);
  const Tensor host = expected.to_cpu();
  for (int64_t i = 0; i < got.size(); ++i) {
    const double a = host.data<float>()[i], b = got.data<float>()[i];
    if (a == b || std::abs(a - b) <= tolerance) continue;
    throw Error("[hugging face] ", found->file->path().string(), ": tensor ", name, ": expected ", what,
                ", got different values in row ", i / got.cols());
  }
}

constexpr double kHalfPrecision = 1e-2;  // tolerance for tables of 16-bit numbers; a wrong table differs by 1

// Throws if a constant table of positions in the files is not that of the config.
void require_positions(std::span<const SafetensorsFile> files, const EncoderOnlyConfig& config, const Naming& naming) {
  if (naming.family == HuggingFaceFamily::roformer) {
    require_repeats(files, rotation_name(naming), rotation_table(config), kHalfPrecision,
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
              entry.name, ": expected the shape ", shape.text(), " (max_position_embeddings twice, width of a head)");
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
      return find_entry(files_, partner) ? "" : partner;
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

}  // namespace gyre
