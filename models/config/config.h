// Configurations of the models: typed structs, their options, validation, and JSON form (config.json of a run
// directory).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_list.h"
#include "gyre/models/position/position.h"

namespace gyre {

// post: norm(x + dropout(f(x))), Vaswani et al. 2017. pre: x + dropout(f(norm(x))), with a norm on top of each stack.
enum class NormPlacement : uint8_t { pre, post };

// layer: layer norm (Ba et al. 2016). rms: RMS norm (Zhang & Sennrich 2019), without a bias.
enum class NormType : uint8_t { layer, rms };
// Blocks of a pre-norm layer. sequential: h = x + attention(norm1(x)), h + ffn(norm2(h)). parallel: x +
// attention(norm1(x)) + ffn(norm2(x)), as in GPT-NeoX. shared_norm: parallel with norm1 = norm2, as in GPT-J and PaLM.
enum class ResidualForm : uint8_t { sequential, parallel, shared_norm };
// Which linear layers have a bias. qkv: the projections of queries, keys and values only, as in Qwen2. With `none`,
// layer norms have no bias either.
enum class Biases : uint8_t { all, qkv, none };

template <>
inline constexpr std::pair<NormPlacement, std::string_view> kEnumNames<NormPlacement>[] = {
    {NormPlacement::pre, "pre"}, {NormPlacement::post, "post"}};
template <>
inline constexpr std::pair<NormType, std::string_view> kEnumNames<NormType>[] = {{NormType::layer, "layer"},
                                                                                 {NormType::rms, "rms"}};
template <>
inline constexpr std::pair<ResidualForm, std::string_view> kEnumNames<ResidualForm>[] = {
    {ResidualForm::sequential, "sequential"},
    {ResidualForm::parallel, "parallel"},
    {ResidualForm::shared_norm, "shared-norm"}};
template <>
inline constexpr std::pair<Biases, std::string_view> kEnumNames<Biases>[] = {
    {Biases::all, "all"}, {Biases::qkv, "qkv"}, {Biases::none, "none"}};
template <>
inline constexpr std::pair<Activation, std::string_view> kEnumNames<Activation>[] = {
    {Activation::relu, "relu"},
    {Activation::gelu, "gelu"},
    {Activation::gelu_tanh, "gelu-tanh"},
    {Activation::silu, "silu"}};

enum class AttentionKind : uint8_t { softmax, window, linear };
// Feature map of linear attention. elu: elu(x) + 1 (Katharopoulos et al. 2020). relu: max(x, 0) + 0.001. softmax:
// softmax over the features of a query, exp of a key (Shen et al. 2021). favor: random features that approximate
// softmax attention (Choromanski et al. 2021).
enum class FeatureMap : uint8_t { elu, relu, softmax, favor };
// Operands of the rotation in linear attention. post_map: the mapped features, in the numerator only (Su et al. 2021,
// eq. 19). pre_map: queries and keys before the feature map (performer-pytorch).
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

// Options of self-attention, apart from the position encoding.
struct AttentionConfig {
  AttentionKind kind = AttentionKind::softmax;
  int64_t window = 256;  // visible tokens: the last ones if causal, otherwise half of them on either side
  FeatureMap linear_map = FeatureMap::elu;
  LinearRope linear_rope = LinearRope::post_map;
  int64_t favor_features = 0;   // features of a head; 0: width ln(width), rounded down to an even number
  int64_t favor_redraw = 1000;  // updates between two draws of the random vectors; 0: never

  bool uses_favor() const { return kind == AttentionKind::linear && linear_map == FeatureMap::favor; }
  // Features of a head of `width` after the feature map.
  int64_t features(int64_t width) const;
  // Features of a head of `width` to which the rotation applies.
  int64_t rotated_width(int64_t width) const;
  // `position`: the encoding beside which the options are read. Both must outlive the list.
  void declare(OptionList& list, const PositionConfig& position);
};

// Options of every transformer layer.
struct LayerConfig {
  int64_t dim = 512;   // width of the residual stream
  int64_t ffn = 2048;  // width inside the feed-forward block
  int64_t heads = 8;
  NormPlacement norm = NormPlacement::post;
  Activation activation = Activation::relu;
  double dropout = 0.1;           // rate on embeddings and on every residual branch
  double attention_dropout = 0;   // rate on the attention weights
  double activation_dropout = 0;  // rate after the activation of the feed-forward block
  double layer_norm_epsilon = 1e-5;
  double initial_deviation = 0;  // standard deviation of initial linear weights; 0: Glorot uniform instead of normal
  AttentionConfig attention;     // options of self-attention

  // Variants of single-stack models. An encoder-decoder has the defaults.
  int64_t kv_heads = 0;    // heads of keys and values, each shared by a group of heads; 0: as many as `heads`
  int64_t head_dim = 0;    // width of a head, which may make the queries wider than the model; 0: dim / heads
  bool qk_norm = false;    // RMS norm of each head of queries and keys, before the rotation
  bool gated_ffn = false;  // fc2(activation(gate(x)) * up(x)), a gated linear unit (Shazeer 2020): fc1 = [gate | up]
  NormType norm_type = NormType::layer;
  ResidualForm residual_form = ResidualForm::sequential;
  Biases biases = Biases::all;
  double residual_gain = 1;  // factor on the initial weights of out_proj and fc2, set by the model; not in the JSON

  int64_t head_width() const { return head_dim > 0 ? head_dim : dim / heads; }
  int64_t query_dim() const { return heads * head_width(); }  // width of the queries of all heads
  int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  int64_t key_dim() const { return key_heads() * head_width(); }  // width of the keys of all heads
  bool has_biases() const { return biases == Biases::all; }       // biases of all linear layers except qkv_proj

  // The initial values of a weight (out, in). `gain` multiplies the bound of Glorot's distribution.
  Init initial_weight(int64_t in, int64_t out, double gain = 1) const;
  // Those of a projection (out, in) whose output is added to the residual stream.
  Init initial_residual_weight(int64_t in, int64_t out) const;
};

// Options of every model.
struct ModelConfig : LayerConfig {
  int64_t vocab_size = 0;
  bool final_norm = true;  // the norm on top of each stack, with pre-norm only
  PositionConfig position;

  // "6 layers x 512, 8 heads, FFN 2048, sinusoidal positions": a summary for the log.
  std::string describe_shape(const std::string& layers) const;

 protected:
  void declare_blocks(OptionList& list);  // heads and feed-forward blocks
  // Norms, dropout, attention, position encoding.
  void declare_shared(OptionList& list, bool has_cross_attention);
  void validate_shared() const;

 private:
  void validate_attention() const;
};

// Each kind of model has a name, kModel, which is the first value of its JSON ("model"). The config.json of a run
// identifies the kind of its model by this name.

// vocab_size: size of the vocabulary of the sources, or of the joint vocabulary of source and target.
struct EncoderDecoderConfig : ModelConfig {
  static constexpr const char* kModel = "encoder-decoder";
  int64_t target_vocab_size = 0;  // size of the vocabulary of the targets; 0: the vocabulary is joint
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  bool tied_embeddings = true;  // source and target share one table
  bool tied_output = true;      // the output projection is the target's table
  bool output_bias = false;     // a bias for each piece of the target's vocabulary, added to the logits
  bool scale_embedding = true;  // embeddings times sqrt(dim)

  int64_t output_size() const { return target_vocab_size > 0 ? target_vocab_size : vocab_size; }  // number of logits

  void declare(OptionList& list);
  std::string describe() const;  // "encoder-decoder, 6 + 6 layers x 512, 8 heads, ..."
  void validate() const;         // throws an Error that names the field, what it must be and what it is
  Json to_json() const;
  // Absent keys keep their defaults. Another kind of model, unknown keys, wrong types and invalid values are errors.
  static EncoderDecoderConfig from_json(const Json& json);
  // transformer-tiny, transformer-base or transformer-big; the caller sets vocab_size.
  static EncoderDecoderConfig preset(const std::string& name);
  static std::vector<std::string> preset_names();
};

struct EncoderOnlyConfig : ModelConfig {
  static constexpr const char* kModel = "encoder-only";
  EncoderOnlyConfig() { activation = Activation::gelu; }
  int64_t layers = 12;
  bool causal = false;           // a token attends to itself and to earlier tokens only
  int64_t token_types = 0;       // kinds of segments within a sequence, each with an embedding; 0: none
  int64_t embedding_dim = 0;     // width of the token embeddings and the head, projected to dim; 0: dim
  bool embedding_norm = false;   // a norm on the sum of all embeddings
  bool scale_embedding = false;  // embeddings times sqrt(dim), so that sinusoidal positions do not dominate them
  bool head_transform = true;    // norm(activation(dense(x))) before the product with the table
  bool output_bias = false;      // a bias for each piece of the vocabulary, added to the logits
  bool tied_output = true;       // the output projection is the embedding table
  // Initial weights of out_proj and fc2 are divided by sqrt(2 * layers) (Radford et al. 2019, GPT-2).
  bool scaled_residual_init = false;

  int64_t embedding_width() const { return embedding_dim > 0 ? embedding_dim : dim; }

  // These functions work as those of EncoderDecoderConfig. A causal model is described as decoder-only, the usual name.
  void declare(OptionList& list);
  std::string describe() const;
  void validate() const;
  Json to_json() const;
  static EncoderOnlyConfig from_json(const Json& json);
  // mlm-small, {bert,wobert,nezha,roformer}-{mini,small,base}, and the causal lm-nano, lm-tiny, gpt2-small,
  // llama-{tiny,160m,1b} and neox-160m; the caller sets vocab_size, for which lm-nano proposes 16.
  static EncoderOnlyConfig preset(const std::string& name);
  static std::vector<std::string> preset_names();

 private:
  void validate_variants() const;
};

// The classifier's head, which ends with linear(classes). Dropout precedes each linear layer except BERT's first.
//   bert: tanh(dense(x)) of the first token ([CLS]), the pooler (Devlin et al. 2019, 3.2)
//   roformer: activation(dense(x)) of the first token, the encoder's activation
//   mean: the mean over all tokens of the text, [CLS] and [SEP] included
enum class ClassifierHead : uint8_t { bert, roformer, mean };

template <>
inline constexpr std::pair<ClassifierHead, std::string_view> kEnumNames<ClassifierHead>[] = {
    {ClassifierHead::bert, "bert"}, {ClassifierHead::roformer, "roformer"}, {ClassifierHead::mean, "mean"}};

struct ClassifierConfig {
  static constexpr const char* kModel = "classifier";
  EncoderOnlyConfig encoder;  // no head of a language model: head_transform and output_bias are not read
  ClassifierHead head = ClassifierHead::bert;
  int64_t classes = 2;   // 1: regression, or the score of a pair of texts
  double dropout = 0.1;  // rate in the head

  bool is_regression() const { return classes == 1; }

  // These functions work as those of EncoderDecoderConfig. JSON has the encoder's keys and the head's keys on one
  // level.
  void declare(OptionList& list);
  void validate() const;
  Json to_json() const;
  static ClassifierConfig from_json(const Json& json);
};

// A config.json, complete with the defaults of the keys that it lacks because an earlier version wrote it.
Json with_defaults(const Json& config);

// The effect of another value at this path of config.json, such as "attention/window", on a run that resumes.
OnResume config_change_on_resume(std::string_view path);

// The encoder's config of either kind of model.
inline const EncoderOnlyConfig& encoder_of(const EncoderOnlyConfig& config) { return config; }
inline const EncoderOnlyConfig& encoder_of(const ClassifierConfig& config) { return config.encoder; }

}  // namespace gyre
