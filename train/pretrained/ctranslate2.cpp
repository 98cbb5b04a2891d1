// The format of model.bin, with integers in little-endian order: u32 6, string "TransformerSpec", u32 revision 7;
// u32 number of variables, and of each its name, u8 number of axes, u32 length of each axis, u8 type, u32 bytes, data;
// u32 number of aliases, and of each its name and that of a variable. A string is u16 bytes, text and NUL, which
// counts. Variables without axes are the options of the layers.
#include "gyre/train/pretrained/ctranslate2.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/marian_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"
#include "gyre/models/position/sinusoidal.h"
#include "gyre/train/pretrained/hugging_face.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

enum class VariableType : uint8_t { f32 = 0, i8 = 1, i16 = 2, i32 = 3 };

// The variables of model.bin by name.
class Variables {
 public:
  void add(const std::string& name, const Tensor& tensor) { tensors_[name] = tensor; }
  void alias(const std::string& name, const std::string& of) { aliases_[name] = of; }
  void flag(const std::string& name, bool value) { add_number(name, VariableType::i8, int8_t(value ? 1 : 0)); }
  void choice(const std::string& name, int value) { add_number(name, VariableType::i8, int8_t(value)); }
  void small(const std::string& name, int64_t value) { add_number(name, VariableType::i16, int16_t(value)); }
  void whole(const std::string& name, int64_t value) { add_number(name, VariableType::i32, int32_t(value)); }
  void real(const std::string& name, double value) { add_number(name, VariableType::f32, float(value)); }

  void write(const Path& path) const {
    AtomicFile file(path);
    put(file, uint32_t{6});
    put(file, std::string("TransformerSpec"));
    put(file, uint32_t{7});
    put(file, uint32_t(numbers_.size() + tensors_.size()));
    for (const auto& [name, number] : numbers_) {
      put(file, name);
      put(file, uint8_t{0});
      put(file, uint8_t(number.type));
      put(file, uint32_t(number.bytes.size()));
      file.write(number.bytes);
    }
    for (const auto& [name, tensor] : tensors_) write_tensor(file, name, tensor);
    put(file, uint32_t(aliases_.size()));
    for (const auto& [name, of] : aliases_) {
      put(file, name);
      put(file, of);
    }
    file.commit();
  }

  size_t tensors() const { return tensors_.size(); }

 private:
  struct NumberBytes {
    VariableType type;
    std::string bytes;
  };

  template <class T>
  void add_number(const std::string& name, VariableType type, T value) {
    numbers_[name] = {type, std::string(reinterpret_cast<const char*>(&value), sizeof value)};
  }
  template <class T>
  static void put(AtomicFile& file, T value) {
    file.write(&value, sizeof value);
  }
  static void put(AtomicFile& file, const std::string& text) {
    put(file, uint16_t(text.size() + 1));
    file.write(text.c_str(), text.size() + 1);
  }
  static void write_tensor(AtomicFile& file, const std::string& name, const Tensor& tensor) {
    const Tensor host = tensor.to_cpu();
    const auto bytes = uint64_t(host.size()) * sizeof(float);
    require(bytes <= std::numeric_limits<uint32_t>::max(), "[ctranslate2] ", name, ": expected at most 4 GiB, got ",
            bytes, " bytes");
    put(file, name);
    put(file, uint8_t(host.shape().rank()));
    for (int axis = 0; axis < host.shape().rank(); ++axis) put(file, uint32_t(host.dim(axis)));
    put(file, uint8_t(VariableType::f32));
    put(file, uint32_t(bytes));
    file.write(host.data<float>(), bytes);
  }

  std::map<std::string, NumberBytes> numbers_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> aliases_;
};

// CTranslate2's numbers of the activations that a config can have.
int activation_number(Activation activation) {
  constexpr std::pair<Activation, int> kNumbers[] = {
      {Activation::relu, 0}, {Activation::gelu_tanh, 1}, {Activation::silu, 2}, {Activation::gelu, 3}};
  return std::ranges::find(kNumbers, activation, &std::pair<Activation, int>::first)->second;
}

// "field: expected .., got .." for what CTranslate2 lacks; empty: nothing.
std::string missing_field(const EncoderDecoderConfig& config) {
  const std::string& encoding = config.position.encoding;
  if (encoding == "sinusoidal" || encoding == "learned" || encoding == "shaw") return "";
  if (encoding != "rope") return concat("position: expected sinusoidal, learned, shaw or rope, got ", encoding);
  const auto& rope = config.position.get<RopeOptions>();
  if (rope.learnable) return "rope_learnable: expected false, got true";
  if (rope.rotate_values) return "rope_rotate_values: expected false, got true";
  if (rope.rotate_cross) return "rope_rotate_cross: expected false, got true";
  if (rope.step != 1) return concat("rope_step: expected 1, got ", rope.step);
  if (rope.scaling != RopeScaling::none && rope.scaling != RopeScaling::linear)
    return concat("rope_scaling: expected none or linear, got ", enum_name(rope.scaling));
  return "";
}

// Our names of the modules of a layer, and theirs.
constexpr std::pair<const char*, const char*> kModules[] = {{"self_attn.qkv_proj", "self_attention/linear_0"},
                                                            {"self_attn.out_proj", "self_attention/linear_1"},
                                                            {"self_attn_layer_norm", "self_attention/layer_norm"},
                                                            {"encoder_attn.q_proj", "attention/linear_0"},
                                                            {"encoder_attn.kv_proj", "attention/linear_1"},
                                                            {"encoder_attn.out_proj", "attention/linear_2"},
                                                            {"encoder_attn_layer_norm", "attention/layer_norm"},
                                                            {"fc1", "ffn/linear_0"},
                                                            {"fc2", "ffn/linear_1"},
                                                            {"final_layer_norm", "ffn/layer_norm"}};

// Their name of a parameter of a layer or of a stack, without the kind: "encoder/layer_0/ffn/linear_1".
std::string their_module(const std::string& module) {
  const size_t dot = module.find('.');
  const std::string stack = module.substr(0, dot), rest = module.substr(dot + 1);
  constexpr std::string_view kLayers = "layers.";
  if (!rest.starts_with(kLayers)) return stack + "/" + rest;  // the final norm
  const size_t end = rest.find('.', kLayers.size());
  const std::string number = rest.substr(kLayers.size(), end - kLayers.size()), name = rest.substr(end + 1);
  const auto found = std::ranges::find_if(kModules, [&](const auto& names) { return names.first == name; });
  require(found != std::end(kModules), "[ctranslate2] ", module, " has no counterpart in CTranslate2");
  return concat(stack, "/layer_", number, "/", found->second);
}

void add_layer_parameter(Variables& variables, const Parameter& p) {
  const size_t dot = p.name.rfind('.');
  const std::string module = p.name.substr(0, dot), kind = p.name.substr(dot + 1);
  const bool is_norm = module.ends_with("layer_norm");
  variables.add(their_module(module) + "/" + (is_norm ? (kind == "weight" ? "gamma" : "beta") : kind), p.value);
}

// stack.embed_positions.layers.3.keys.weight of Shaw's vectors.
void add_shaw_parameter(Variables& variables, const Parameter& p) {
  const std::string stack = p.name.substr(0, p.name.find('.'));
  constexpr std::string_view kLayers = ".layers.";
  const size_t begin = p.name.find(kLayers) + kLayers.size(), end = p.name.find('.', begin);
  const bool is_keys = p.name.find(".keys.") != std::string::npos;
  variables.add(concat(stack, "/layer_", p.name.substr(begin, end - begin), "/self_attention/relative_position_",
                       is_keys ? "keys" : "values"),
                p.value);
}

void add_rope(Variables& variables, const std::string& stack, int64_t layers, const RopeOptions& rope) {
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::string scope = concat(stack, "/layer_", layer, "/self_attention/");
    variables.whole(scope + "rotary_dim", rope.rotary_dims);  // 0: all
    variables.flag(scope + "rotary_interleave", rope.pairs == RotaryPairs::interleaved);
    variables.real(scope + "rotary_base", rope.base);
    if (rope.scaling == RopeScaling::none) continue;
    constexpr int kLinear = 0;
    variables.choice(scope + "rotary_scaling_type", kLinear);
    variables.real(scope + "rotary_scaling_factor", rope.scaling_factor);
  }
}

void add_options(Variables& variables, const EncoderDecoderConfig& config) {
  for (const auto& [stack, layers] :
       {std::pair<std::string, int64_t>("encoder", config.encoder_layers), {"decoder", config.decoder_layers}}) {
    variables.small(stack + "/num_heads", config.heads);
    variables.flag(stack + "/pre_norm", config.norm == NormPlacement::pre);
    variables.choice(stack + "/activation", activation_number(config.activation));
    variables.flag(stack + "/scale_embeddings", config.scale_embedding);
    if (config.position.encoding == "rope") add_rope(variables, stack, layers, config.position.get<RopeOptions>());
    if (config.position.encoding == "sinusoidal") {
      const Tensor table = sinusoid_table(config.position.get<SinusoidalOptions>().layout,
                                          config.position.get<PositionTableOptions>().max_positions, config.dim);
      variables.add(stack + "/position_encodings/encodings", table.to(DType::f32));
    }
  }
  variables.choice("encoder/embeddings_merge", 0);
  variables.small("decoder/alignment_layer", -1);
  variables.small("decoder/alignment_heads", 1);
  variables.flag("decoder/start_from_zero_embedding", false);
}

// The bias of the projection. The padding that begins a translation is never produced.
Tensor projection_bias(const Tensor& own, const Vocabulary& target) {
  const bool starts_with_padding = target.pad() >= 0 && target.pad() == target.bos() && target.bos() != target.eos();
  if (!starts_with_padding) return own;
  constexpr float kNever = -10000;
  Tensor bias = own ? own.to_cpu().clone() : Tensor::zeros({int64_t(target.size())});
  bias.data<float>()[target.pad()] = kNever;
  return bias;
}

Variables variables_of(const EncoderDecoder& model, const Vocabulary& vocabulary) {
  constexpr const char *kSource = "encoder/embeddings_0/weight", *kTarget = "decoder/embeddings/weight",
                       *kOutput = "decoder/projection/weight";
  const EncoderDecoderConfig& config = model.config();
  Variables variables;
  add_options(variables, config);
  Tensor bias;
  for (const Parameter& p : model.parameters()) {
    if (p.name == "decoder.output_projection.bias") {
      bias = p.value;
    } else if (p.name == "decoder.output_projection.weight") {
      variables.add(kOutput, p.value);
    } else if (p.name == "embed_tokens.weight" || p.name == "decoder.embed_tokens.weight") {
      variables.add(kTarget, p.value);
    } else if (p.name == "encoder.embed_tokens.weight") {
      variables.add(kSource, p.value);
    } else if (p.name.ends_with(".embed_positions.weight")) {
      variables.add(p.name.substr(0, p.name.find('.')) + "/position_encodings/encodings", p.value);
    } else if (p.name.find(".embed_positions.layers.") != std::string::npos) {
      add_shaw_parameter(variables, p);
    } else {
      add_layer_parameter(variables, p);
    }
  }
  if (config.tied_embeddings) variables.alias(kSource, kTarget);
  if (config.tied_output) variables.alias(kOutput, kTarget);
  if (const Tensor all = projection_bias(bias, vocabulary.side(1))) variables.add("decoder/projection/bias", all);
  return variables;
}

std::string pieces_text(const Vocabulary& vocabulary) {
  Json pieces = Json::array();
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    pieces.push_back(piece.empty() ? concat("<unused", id, ">") : piece);
  }
  return json_text(pieces, 2) + "\n";
}

// The SentencePiece model of a vocabulary; empty if it has another kind.
std::string sentencepiece_model(const Vocabulary& vocabulary) {
  if (const auto* own = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary)) return own->model();
  const auto* marian = dynamic_cast<const MarianVocabulary*>(&vocabulary);
  return marian == nullptr ? "" : marian->model();
}

// Whether CTranslate2 reads a file of this name as a part of a model, or an export writes it.
bool is_model_file(const std::string& name) {
  constexpr std::string_view kNames[] = {
      "model.bin",  "config.json", "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json",
      "source.spm", "target.spm"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace

void require_ctranslate2(const EncoderDecoderConfig& config) {
  const std::string missing = missing_field(config);
  require(missing.empty(), "[ctranslate2] this model cannot be exported: ", missing);
}

std::string write_ctranslate2(const Path& directory, const EncoderDecoder& model, const Vocabulary& vocabulary,
                              bool overwrite) {
  const EncoderDecoderConfig& config = model.config();
  require_ctranslate2(config);
  const Vocabulary &source = vocabulary.side(0), &target = vocabulary.side(1);
  require(source.unk() >= 0 && target.unk() >= 0 && source.piece(source.unk()) == target.piece(target.unk()),
          "[ctranslate2] expected a vocabulary with a piece for unknown words, the same on both sides");
  require_free_for_model(directory, overwrite, is_model_file);
  const Variables variables = variables_of(model, vocabulary);
  const Json settings{{"add_source_bos", false},
                      {"add_source_eos", true},
                      {"bos_token", target.piece(target.bos())},
                      {"decoder_start_token", target.piece(target.bos())},
                      {"eos_token", target.piece(target.eos())},
                      {"layer_norm_epsilon", config.layer_norm_epsilon},
                      {"multi_query_attention", false},
                      {"unk_token", target.piece(target.unk())}};
  const auto write = [&](const Path& into) {
    variables.write(into / "model.bin");
    write_file(into / "config.json", json_text(settings, 2) + "\n");
    if (vocabulary.shares_ids()) {
      write_file(into / "shared_vocabulary.json", pieces_text(target));
    } else {
      write_file(into / "source_vocabulary.json", pieces_text(source));
      write_file(into / "target_vocabulary.json", pieces_text(target));
    }
    for (const auto& [side, name] : {std::pair(&source, "source.spm"), {&target, "target.spm"}})
      if (const std::string pieces = sentencepiece_model(*side); !pieces.empty()) write_file(into / name, pieces);
  };
  replace_files(directory, write, [&] { remove_model(directory, is_model_file); });
  return concat(directory.string(), ": a TransformerSpec of ", model.parameters().elements(), " parameters in ",
                variables.tensors(), " tensors, ",
                vocabulary.shares_ids() ? concat("a vocabulary of ", target.size(), " pieces")
                                        : concat("vocabularies of ", source.size(), " and ", target.size(), " pieces"));
}

}  // namespace gyre
