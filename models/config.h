// The typed configurations of the models, validated once, and their JSON form (config.json of a run directory).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/enum_names.h"
#include "models/position/position.h"

namespace gyre {

// post: norm(x + dropout(f(x))), Vaswani et al. 2017; pre: x + dropout(f(norm(x))), with a norm on top of each stack.
enum class NormPlacement : uint8_t { pre, post };

template <>
inline constexpr std::pair<NormPlacement, std::string_view> kEnumNames<NormPlacement>[] = {
    {NormPlacement::pre, "pre"}, {NormPlacement::post, "post"}};
template <>
inline constexpr std::pair<Activation, std::string_view> kEnumNames<Activation>[] = {{Activation::relu, "relu"},
                                                                                     {Activation::gelu, "gelu"}};

enum class AttentionKind : uint8_t { softmax, window, linear };
// Of linear attention: elu(x) + 1 (Katharopoulos et al. 2020); max(x, 0) + 0.001; softmax over the features of a query,
// exp of a key (Shen et al. 2021); or random features that stand for softmax attention (Choromanski et al. 2021).
enum class FeatureMap : uint8_t { elu, relu, softmax, favor };
// Where rotary positions turn: the features, in the numerator alone (Su et al. 2021, eq. 19), or queries and keys
// before they are mapped (performer-pytorch).
enum class LinearRope : uint8_t { post_map, pre_map };

template <>
inline constexpr std::pair<AttentionKind, std::string_view> kEnumNames<AttentionKind>[] = {
    {AttentionKind::softmax, "softmax"}, {AttentionKind::window, "window"}, {AttentionKind::linear, "linear"}};
template <>
inline constexpr std::pair<FeatureMap, std::string_view> kEnumNames<FeatureMap>[] = {{FeatureMap::elu, "elu+1"},
                                                                                     {FeatureMap::relu, "relu"},
                                                                                     {FeatureMap::softmax, "softmax"},
                                                                                     {FeatureMap::favor, "favor+"}};
template <>
inline constexpr std::pair<LinearRope, std::string_view> kEnumNames<LinearRope>[] = {{LinearRope::post_map, "post-map"},
                                                                                     {LinearRope::pre_map, "pre-map"}};

// How rows attend to one another, whatever tells them of order.
struct AttentionConfig {
  AttentionKind kind = AttentionKind::softmax;
  int64_t window = 256;  // tokens seen: the last ones when causal, else half of them on either side
  FeatureMap linear_map = FeatureMap::elu;
  LinearRope linear_rope = LinearRope::post_map;
  int64_t favor_features = 0;   // of a head; 0: width ln(width), rounded down to an even number
  int64_t favor_redraw = 1000;  // updates between two draws of the random vectors; 0: never

  bool uses_favor() const { return kind == AttentionKind::linear && linear_map == FeatureMap::favor; }
  // Of a head of that width, once mapped.
  int64_t features(int64_t width) const;
  // Of a head of that width where rotary positions turn.
  int64_t rotated_width(int64_t width) const;
};

// What every transformer layer needs.
struct LayerConfig {
  int64_t dim = 512;   // width of the residual stream
  int64_t ffn = 2048;  // width inside the feed-forward block
  int64_t heads = 8;
  NormPlacement norm = NormPlacement::post;
  Activation activation = Activation::relu;
  double dropout = 0.1;           // on embeddings and on every residual branch
  double attention_dropout = 0;   // on the attention weights
  double activation_dropout = 0;  // after the activation of the feed-forward block
  double layer_norm_epsilon = 1e-5;
  double initial_deviation = 0;  // of the weights of linear layers, normal; 0: Glorot uniform
  AttentionConfig attention;     // of self-attention

  // How a weight (out, in) starts; `gain` is on Glorot's bound.
  Init initial_weight(int64_t in, int64_t out, double gain = 1) const;
};

// What every model has.
struct ModelConfig : LayerConfig {
  int64_t vocab_size = 0;
  bool final_norm = true;  // pre-norm only: the norm on top of each stack
  PositionConfig position;

  // "6 layers x 512, 8 heads, FFN 2048, sinusoidal positions": what differs between models of a kind.
  std::string describe_shape(const std::string& layers) const;

 protected:
  void validate_shared() const;

 private:
  void validate_attention() const;
};

// Each kind of config has a name, the first key of its JSON: a run directory says with it what its model is.

struct EncoderDecoderConfig : ModelConfig {  // vocab_size: of the joint vocabulary of source and target
  static constexpr const char* kModel = "encoder-decoder";
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  bool tied_embeddings = true;  // source and target share one table
  bool tied_output = true;      // the output projection is the target's table
  bool scale_embedding = true;  // embeddings times sqrt(dim)

  std::string describe() const;  // "encoder-decoder, 6 + 6 layers x 512, 8 heads, ..."
  void validate() const;         // throws an Error that names the field, what it must be and what it is
  nlohmann::ordered_json to_json() const;
  // Absent keys keep their defaults; another kind of model, unknown keys and wrong types are errors. The result is
  // valid.
  static EncoderDecoderConfig from_json(const nlohmann::ordered_json& json);
  // transformer-tiny, transformer-base or transformer-big; the caller sets vocab_size.
  static EncoderDecoderConfig preset(const std::string& name);
  static std::vector<std::string> preset_names();
};

struct EncoderOnlyConfig : ModelConfig {
  static constexpr const char* kModel = "encoder-only";
  EncoderOnlyConfig() { activation = Activation::gelu; }
  int64_t layers = 12;
  bool causal = false;           // rows see themselves and those before them
  int64_t token_types = 0;       // kinds of segments within a sequence, each with an embedding; 0: none
  bool embedding_norm = false;   // a norm on the sum of all embeddings
  bool scale_embedding = false;  // embeddings times sqrt(dim), so that sinusoidal positions do not drown them
  bool head_transform = true;    // norm(activation(dense(x))) before the product with the table
  bool output_bias = false;      // a number per piece, added to the logits

  // As above; a causal model is described as decoder-only, the usual name.
  std::string describe() const;
  void validate() const;
  nlohmann::ordered_json to_json() const;
  static EncoderOnlyConfig from_json(const nlohmann::ordered_json& json);
  // mlm-small, lm-tiny, bert-{mini,small,base}, roformer-{mini,small,base}; the caller sets vocab_size.
  static EncoderOnlyConfig preset(const std::string& name);
  static std::vector<std::string> preset_names();
};

// What stands on the first row of each text ([CLS]), linear(classes) at its end, dropout before each linear layer but
// BERT's first:
//   bert: tanh(dense(x)) (its pooler; Devlin et al. 2019, 3.2)    roformer: activation(dense(x)), the encoder's one
enum class ClassifierHead : uint8_t { bert, roformer };

template <>
inline constexpr std::pair<ClassifierHead, std::string_view> kEnumNames<ClassifierHead>[] = {
    {ClassifierHead::bert, "bert"}, {ClassifierHead::roformer, "roformer"}};

struct ClassifierConfig {
  static constexpr const char* kModel = "classifier";
  EncoderOnlyConfig encoder;  // its fields for the head of a language model are not read
  ClassifierHead head = ClassifierHead::bert;
  int64_t classes = 2;   // 1: regression
  double dropout = 0.1;  // in the head

  bool is_regression() const { return classes == 1; }

  // As above. JSON has the encoder's keys and those of the head side by side.
  void validate() const;
  nlohmann::ordered_json to_json() const;
  static ClassifierConfig from_json(const nlohmann::ordered_json& json);
};

// A config.json with the defaults of the fields that it lacks: one that an earlier version wrote.
nlohmann::ordered_json with_defaults(const nlohmann::ordered_json& config);

// The encoder of either.
inline const EncoderOnlyConfig& encoder_of(const EncoderOnlyConfig& config) { return config; }
inline const EncoderOnlyConfig& encoder_of(const ClassifierConfig& config) { return config.encoder; }

}  // namespace gyre
