#include "gyre/models/config/config.h"

#include <cmath>

#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/models/config/config_json.h"
#include "gyre/models/position/position.h"

namespace gyre {
namespace {

constexpr OnResume kOtherModel = OnResume::another_model;  // it changes the weights or what a trained model computes
constexpr OnResume kOtherBits = OnResume::other_bits;      // it changes only how the weights are trained

template <class Config>
Json json_of(Config config) {
  ConfigWriter writer;
  writer("model", Config::kModel);
  visit_options(writer, OptionList::of(config));
  return writer.json;
}

template <class Config>
Config config_of(const Json& json) {
  Config config;
  ConfigReader reader(json, "config");
  std::string model = Config::kModel;
  reader("model", model);
  if (model != Config::kModel) {
    const bool is_decoder = model == EncoderOnlyConfig::kModel && json.value("causal", Json()) == true;
    const bool takes_decoders = std::is_same_v<Config, EncoderOnlyConfig>;
    throw Error("[config] expected a model of kind ", Config::kModel, takes_decoders ? " or decoder" : "", ", got ",
                is_decoder ? "decoder" : model);
  }
  visit_options(reader, OptionList::of(config));
  reader.refuse_unknown();
  config.validate();
  return config;
}

// The bounds of numbers, in words that follow "must be".
Bounds above_0() { return {.expected = "positive", .minimum = 0, .includes_minimum = false}; }
Bounds rate() { return {.expected = "at least 0 and below 1", .minimum = 0, .maximum = 1, .includes_maximum = false}; }

void require_few_layers(const char* name, int64_t value) {
  require(value <= kMaxLayers, "[", name, "] must be at most ", kMaxLayers, ", got ", value);
}

// A visitor of fields that rejects sizes whose products could overflow, and numbers that are infinite or NaN.
struct FieldBounds {
  template <class T>
  void operator()(const std::string& key, const T& value) {
    const std::string name = key.substr(key.rfind('/') + 1);
    if constexpr (std::is_floating_point_v<T>) {
      require(std::isfinite(value), "[", name, "] must be a finite number, got ", value);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      require(int64_t(value) <= kMaxDimension, "[", name, "] must be at most ", kMaxDimension, ", got ", value);
    }
  }
};

// Checks the bounds that the options declare. Messages name the keys of config.json, from which models are read too.
template <class Config>
void require_bounds(Config config) {
  FieldBounds bounds;
  const OptionList list = OptionList::of(config);
  visit_options(bounds, list);
  for (const OptionList::Entry& entry : list.entries()) {
    const std::optional<Bounds>& declared = entry.option.bounds;
    if (!declared || declared->contain(*entry.option.value.number())) continue;
    const std::string& key = entry.option.key;
    throw Error("[", key.substr(key.rfind('/') + 1), "] must be ", declared->expected, ", got ",
                entry.option.value.text());
  }
}

Option width_option(int64_t* dim) {
  return {"--dim-emb,--encoder-embed-dim",
          dim,
          "NUMBER",
          "width of the model",
          {.bounds = at_least(1),
           .key = "dim",
           .also_called = {"hidden-size", "hidden-dim", "n-embd", "d-model", "dim", "embed-dim", "model-dim",
                           "rnn-size", "word-vec-size", "decoder-embed-dim"}}};
}

// "none, sinusoidal, learned or rope"
std::string encodings_without_terms() {
  std::vector<std::string> names = position_encoding_names();
  std::erase_if(names, [](const std::string& name) { return position_encoding_type(name).adds_to_scores; });
  std::string text;
  for (const std::string& name : names)
    text += (&name == &names.front() ? "" : &name == &names.back() ? " or " : ", ") + name;
  return text;
}

}  // namespace

int64_t AttentionConfig::features(int64_t width) const {
  if (!uses_favor()) return width;
  if (favor_features > 0) return favor_features;
  const auto natural = int64_t(double(width) * std::log(double(width)));
  return std::max<int64_t>(2, natural - natural % 2);
}

int64_t AttentionConfig::rotated_width(int64_t width) const {
  return linear_rope == LinearRope::post_map ? features(width) : width;
}

void AttentionConfig::declare(OptionList& list, const PositionConfig& position) {
  const auto unless = [this](AttentionKind read) {
    return [this, read] { return kind == read ? "" : concat("--attention is ", enum_name(kind)); };
  };
  const auto without_favor = [this] {
    if (kind != AttentionKind::linear) return concat("--attention is ", enum_name(kind));
    return uses_favor() ? "" : concat("--linear-map is ", enum_name(linear_map));
  };
  list.group("Attention");
  list.add(kOtherModel, "--attention", &kind, "kind of self-attention", OptionDetails{.key = "attention/kind"});
  list.add(kOtherModel, "--attention-window", &window, "TOKENS",
           "window size of --attention window: the last tokens if causal, else half on each side",
           {.unused = unless(AttentionKind::window),
            .key = "attention/window",
            .also_called = {"sliding-window", "window-size"}});
  list.add(kOtherModel, "--linear-map", &linear_map, "feature map of --attention linear",
           OptionDetails{.unused = unless(AttentionKind::linear), .key = "attention/linear_map"});
  list.add(kOtherModel, "--linear-rope", &linear_rope,
           "operands of the rotation with --attention linear: mapped features, or queries and keys before the map",
           OptionDetails{.unused =
                             [this, &position] {
                               if (kind != AttentionKind::linear) return concat("--attention is ", enum_name(kind));
                               return position.encoding == "rope" ? "" : "--position is " + position.encoding;
                             },
                         .key = "attention/linear_rope"});
  list.add(kOtherModel, "--favor-features", &favor_features, "NUMBER",
           "random features of a head with --linear-map favor+; 0: width x ln(width)",
           {.bounds = at_least(0), .unused = without_favor, .key = "attention/favor_features"});
  list.add(kOtherBits, "--favor-redraw", &favor_redraw, "UPDATES",
           "redraw the random features after this many updates; 0: never",
           {.bounds = at_least(0), .unused = without_favor, .key = "attention/favor_redraw"});
}

void ModelConfig::declare_blocks(OptionList& list) {
  list.add(kOtherModel, "--transformer-heads,--encoder-attention-heads", &heads, "HEADS", "number of attention heads",
           {.bounds = at_least(1),
            .key = "heads",
            .also_called = {"num-attention-heads", "num-heads", "n-head", "n-heads", "heads", "attention-heads",
                            "decoder-attention-heads"}});
  list.add(kOtherModel, "--transformer-dim-ffn,--encoder-ffn-embed-dim", &ffn, "NUMBER",
           "inner width of the feed-forward blocks",
           {.bounds = at_least(1),
            .key = "ffn",
            .also_called = {"ffn-hidden-size", "intermediate-size", "d-ff", "ffn-dim", "dim-feedforward",
                            "transformer-ff", "decoder-ffn-embed-dim"}});
  list.add(kOtherModel, "--transformer-ffn-activation,--activation-fn", &activation,
           "activation function of the feed-forward blocks", OptionDetails{.key = "activation"});
}

void ModelConfig::declare_shared(OptionList& list, bool has_cross_attention) {
  list.add(
      kOtherModel, "--norm", &norm, "layer norm after each residual sum, or before each block",
      OptionDetails{.key = "norm", .values_called = {{"pre", {"transformer-preprocess", "decoder-normalize-before"}}}});
  list.add(kOtherModel, "--final-norm,!--no-final-norm", &final_norm,
           "with --norm pre: a final norm on top of each stack",
           OptionDetails{.unused = [this] { return norm == NormPlacement::pre ? "" : "--norm is post"; },
                         .key = "final_norm"});
  list.add(kOtherModel, "--layer-norm-epsilon", &layer_norm_epsilon, "NUMBER",
           "epsilon of layer norm, added to the variance",
           {.bounds = above_0(),
            .key = "layer_norm_epsilon",
            .also_called = {"norm-epsilon", "layer-norm-eps", "rms-norm-eps", "norm-eps"}});
  list.add_shorthand("--transformer-postprocess",
                     {1, 1,
                      [this](const OptionValue::Words& words) {
                        // Marian writes the order of dropout, add and norm as letters.
                        const bool is_post = chosen_word(words.back(), {"dan", "da"}) == "dan";
                        norm = is_post ? NormPlacement::post : NormPlacement::pre;
                      }},
                     "dan|da", "Marian's name for --norm post (dan) or pre (da)", {.completions = {"dan", "da"}});
  list.add_switch("--encoder-normalize-before", "fairseq's name for --norm pre", [this] { norm = NormPlacement::pre; });
  list.group("Dropout");
  list.add(
      kOtherBits, "--transformer-dropout,--dropout", &dropout, "RATE",
      "dropout rate of embeddings and residual branches",
      {.bounds = rate(), .key = "dropout", .also_called = {"hidden-dropout", "hidden-dropout-prob", "dropout-rate"}});
  list.add(kOtherBits, "--transformer-dropout-attention,--attention-dropout", &attention_dropout, "RATE",
           "dropout rate of the attention weights", {.bounds = rate(), .key = "attention_dropout"});
  list.add(kOtherBits, "--transformer-dropout-ffn,--activation-dropout", &activation_dropout, "RATE",
           "dropout rate inside the feed-forward blocks",
           {.bounds = rate(), .key = "activation_dropout", .also_called = {"relu-dropout"}});
  attention.declare(list, position);
  position.declare(list, has_cross_attention);
}

void EncoderDecoderConfig::declare(OptionList& list) {
  list.group("Model");
  list.add_field(kOtherModel, "vocab_size", &vocab_size, at_least(1));
  list.add_field(kOtherModel, "target_vocab_size", &target_vocab_size, at_least(0));
  list.add_field(kOtherBits, "initial_deviation", &initial_deviation, at_least(0));
  list.add(kOtherModel, width_option(&dim));
  list.add(kOtherModel, "--enc-depth,--encoder-layers", &encoder_layers, "LAYERS", "number of encoder layers",
           {.bounds = at_least(1), .key = "encoder_layers", .also_called = {"enc-layers", "num-encoder-layers"}});
  list.add(kOtherModel, "--dec-depth,--decoder-layers", &decoder_layers, "LAYERS", "number of decoder layers",
           {.bounds = at_least(1), .key = "decoder_layers"});
  declare_blocks(list);
  list.add(kOtherModel, "--tied-embeddings-all,--share-all-embeddings,!--no-tied-embeddings", &tied_embeddings,
           "share the embeddings of source and target", OptionDetails{.key = "tied_embeddings"});
  list.add(kOtherModel, "--tied-output,--tied-embeddings,--share-decoder-input-output-embed,!--no-tied-output",
           &tied_output, "use the target embeddings as the output projection", OptionDetails{.key = "tied_output"});
  list.add(kOtherModel, "--output-bias,!--no-output-bias", &output_bias,
           "bias of the output projection, one number per token of the vocabulary, as Marian has it",
           OptionDetails{.key = "output_bias"});
  list.add(kOtherModel, "--scale-embedding,!--no-scale-embedding", &scale_embedding,
           "multiply embeddings by sqrt(width)", OptionDetails{.key = "scale_embedding"});
  declare_shared(list, /*has_cross_attention=*/true);
  for (const auto& [option, name] : {std::pair("transformer-heads", "encoder-attention-heads"),
                                     {"transformer-dim-ffn", "encoder-ffn-embed-dim"},
                                     {"encoder-normalize-before", "encoder-normalize-before"},
                                     {"encoder-learned-pos", "encoder-learned-pos"}})
    list.at(option).elsewhere = {{{name}, "fairseq", "the encoder only", "both stacks"}};
}

void EncoderOnlyConfig::declare(OptionList& list) {
  list.group("Model");
  list.add_field(kOtherModel, "vocab_size", &vocab_size, at_least(1));
  list.add_field(kOtherModel, "causal", &causal);
  list.add(kOtherModel, width_option(&dim));
  list.add(kOtherModel, "--layers,--enc-depth,--encoder-layers", &layers, "LAYERS", "number of layers",
           {.bounds = at_least(1), .key = "layers"});
  declare_blocks(list);
  list.add(kOtherModel, "--kv-heads", &kv_heads, "HEADS",
           "heads of keys and values, each shared by a group of heads (grouped-query attention); 0: as many as heads",
           {.bounds = at_least(0),
            .key = "kv_heads",
            .also_called = {"num-query-groups", "num-key-value-heads", "n-kv-heads", "n-query-groups",
                            "group-query-attention"}});
  list.add(kOtherModel, "--head-dim", &head_dim, "NUMBER", "width of a head; 0: width of the model / heads",
           {.bounds = at_least(0), .key = "head_dim", .also_called = {"kv-channels"}});
  list.add(kOtherModel, "--norm-type", &norm_type, "layer norm, or RMS norm as in LLaMA",
           OptionDetails{.key = "norm_type", .also_called = {"normalization", "norm-class-name"}});
  list.add(kOtherModel, "--gated-ffn,!--no-gated-ffn", &gated_ffn,
           "gated feed-forward blocks, act(gate) x up: SwiGLU with silu, GEGLU with gelu",
           OptionDetails{.key = "gated_ffn", .also_called = {"swiglu", "gated-linear-unit"}});
  list.add(kOtherModel, "--biases", &biases,
           "biases: all; qkv: those of queries, keys and values only; none: also none in layer norms",
           OptionDetails{.key = "biases", .also_called = {"disable-bias-linear", "bias", "no-bias"}});
  list.add(kOtherModel, "--qk-norm,!--no-qk-norm", &qk_norm, "RMS norm of each head of queries and keys",
           OptionDetails{.key = "qk_norm", .also_called = {"qk-layernorm"}});
  list.add(kOtherModel, "--residual-form", &residual_form,
           "sequential: attention, then feed-forward; parallel: both at once (GPT-NeoX); shared-norm: with one norm "
           "(GPT-J)",
           OptionDetails{.key = "residual_form"});
  list.add(kOtherModel, "--token-types", &token_types, "NUMBER",
           "number of token types (segment embeddings); BERT has 2; 0: none",
           {.bounds = at_least(0), .key = "token_types"});
  list.add(kOtherModel, "--embedding-dim", &embedding_dim, "NUMBER",
           "width of the token embeddings, which are projected to the width of the model; 0: the same width",
           {.bounds = at_least(0), .key = "embedding_dim"});
  list.add(kOtherModel, "--embedding-norm,!--no-embedding-norm", &embedding_norm,
           "layer norm on the sum of the embeddings", OptionDetails{.key = "embedding_norm"});
  list.add(kOtherModel, "--scale-embedding,!--no-scale-embedding", &scale_embedding,
           "multiply embeddings by sqrt(width), as usual with sinusoidal positions",
           OptionDetails{.key = "scale_embedding"});
  list.add(kOtherModel, "--head-transform,!--no-head-transform", &head_transform,
           "dense layer, GELU and layer norm before the tied output projection",
           OptionDetails{.key = "head_transform"});
  list.add(kOtherModel, "--output-bias,!--no-output-bias", &output_bias,
           "bias of the output projection, one number per token of the vocabulary",
           OptionDetails{.key = "output_bias"});
  list.add(kOtherModel, "--tied-output,--share-decoder-input-output-embed,!--no-tied-output", &tied_output,
           "use the token embeddings as the output projection",
           OptionDetails{.key = "tied_output",
                         .also_called = {"tie-word-embeddings", "tie-embeddings", "tied-embeddings",
                                         "tied-embeddings-all", "share-all-embeddings", "share-input-output-embed"}});
  list.add(
      kOtherBits, "--initial-deviation", &initial_deviation, "NUMBER",
      "standard deviation of the normal initial weights (BERT: 0.02); 0: Glorot uniform",
      {.bounds = at_least(0), .key = "initial_deviation", .also_called = {"init-method-std", "initializer-range"}});
  list.add(kOtherBits, "--scaled-residual-init,!--no-scaled-residual-init", &scaled_residual_init,
           "divide the initial weights that end residual branches by sqrt(2 x layers), as in GPT-2",
           OptionDetails{.key = "scaled_residual_init"});
  declare_shared(list, /*has_cross_attention=*/false);
}

void ClassifierConfig::declare(OptionList& list) {
  encoder.declare(list);
  list.add_field(kOtherModel, "classifier_head", &head);
  list.add_field(kOtherModel, "classes", &classes, at_least(1));
  list.add_field(kOtherBits, "classifier_dropout", &dropout, rate());
}

Init LayerConfig::initial_weight(int64_t in, int64_t out, double gain) const {
  if (initial_deviation > 0) return Init::normal(initial_deviation);
  Init init = Init::xavier(in, out);
  init.value *= gain;
  return init;
}

Init LayerConfig::initial_residual_weight(int64_t in, int64_t out) const {
  Init init = initial_weight(in, out);
  init.value *= residual_gain;
  return init;
}

std::string ModelConfig::describe_shape(const std::string& layers) const {
  const std::string groups = key_heads() < heads ? concat(" in ", counted(key_heads(), "group")) : "";
  std::string text = concat(layers, " x ", dim, ", ", counted(heads, "head"), groups, ", ",
                            gated_ffn ? "gated FFN " : "FFN ", ffn, ", ");
  text += position.encoding == "none" ? "no positions" : position.encoding + " positions";
  if (attention.kind != AttentionKind::softmax) text += concat(", ", enum_name(attention.kind), " attention");
  return text;
}

std::string EncoderDecoderConfig::describe() const {
  return concat(kModel, ", ", describe_shape(concat(encoder_layers, " + ", counted(decoder_layers, "layer"))));
}

std::string EncoderOnlyConfig::describe() const {
  return concat(causal ? "decoder-only" : kModel, ", ", describe_shape(counted(layers, "layer")));
}

void ModelConfig::validate_shared() const {
  require(head_dim > 0 || dim % heads == 0, "[heads] must divide dim = ", dim, ", got ", heads);
  validate_attention();
  check_position_encoding(position,
                          {.dim = dim, .head = dim / heads, .rotated = attention.rotated_width(head_width())});
}

void ModelConfig::validate_attention() const {
  if (attention.kind == AttentionKind::window)
    require(attention.window >= 1, "[attention] window must be at least 1, got ", attention.window);
  if (attention.kind != AttentionKind::linear) return;
  require(!position_encoding_type(position.encoding).adds_to_scores, "[attention] linear has no scores that ",
          position.encoding, " could add to: expected position ", encodings_without_terms());
  require(attention_dropout == 0, "[attention_dropout] linear attention has no weights to drop: expected 0, got ",
          attention_dropout);
}

void EncoderDecoderConfig::validate() const {
  require_few_layers("encoder_layers", encoder_layers);
  require_few_layers("decoder_layers", decoder_layers);
  require_bounds(*this);
  validate_shared();
  require(target_vocab_size == 0 || !tied_embeddings,
          "[tied_embeddings] must be false with a target_vocab_size: two vocabularies have tables of their own");
  require(attention.kind == AttentionKind::softmax, "[attention] an encoder-decoder expects softmax, got ",
          enum_name(attention.kind), ": encoders and decoders have the other kinds");
}

Json EncoderDecoderConfig::to_json() const { return json_of(*this); }

EncoderDecoderConfig EncoderDecoderConfig::from_json(const Json& json) { return config_of<EncoderDecoderConfig>(json); }

void EncoderOnlyConfig::validate() const {
  require_few_layers("layers", layers);
  require_bounds(*this);
  validate_shared();
  validate_variants();
}

void EncoderOnlyConfig::validate_variants() const {
  require(kv_heads == 0 || heads % kv_heads == 0, "[kv_heads] must divide heads = ", heads, ", got ", kv_heads);
  require(query_dim() == dim || !position_encoding_type(position.encoding).adds_to_scores, "[head_dim] with ",
          position.encoding, " positions, expected heads of ", dim, " features in all, got ", heads, " x ", head_dim);
  require(attention.kind != AttentionKind::linear || (key_heads() == heads && !qk_norm),
          "[attention] linear supports neither kv_heads below heads = ", heads,
          " nor qk_norm, got kv_heads = ", key_heads(), " and qk_norm = ", qk_norm);
  const bool has_table = position.encoding != "rope" && position.encoding != "none";
  require(embedding_width() == dim || (head_transform && !has_table), "[embedding_dim] other than dim = ", dim,
          " expects head_transform and position rope or none, got head_transform = ", head_transform, " and position ",
          position.encoding);
  require(residual_form == ResidualForm::sequential || norm == NormPlacement::pre, "[residual_form] ",
          enum_name(residual_form), " is a form of pre-norm layers: expected norm = pre, got post");
}

Json EncoderOnlyConfig::to_json() const { return json_of(*this); }

EncoderOnlyConfig EncoderOnlyConfig::from_json(const Json& json) { return config_of<EncoderOnlyConfig>(json); }

void ClassifierConfig::validate() const {
  require_bounds(*this);
  encoder.validate();
  require(!encoder.causal, "[causal] must be false for a classifier: it reads the first row of a text, got true");
}

Json ClassifierConfig::to_json() const { return json_of(*this); }

ClassifierConfig ClassifierConfig::from_json(const Json& json) { return config_of<ClassifierConfig>(json); }

Json with_defaults(const Json& config) {
  const auto model = config.find("model");
  require(model != config.end(), "[config] expected a \"model\" that names its kind, found none");
  if (*model == EncoderDecoderConfig::kModel) return EncoderDecoderConfig::from_json(config).to_json();
  if (*model == ClassifierConfig::kModel) return ClassifierConfig::from_json(config).to_json();
  return EncoderOnlyConfig::from_json(config).to_json();
}

OnResume config_change_on_resume(std::string_view path) {
  for (const OptionList& list : {OptionList::of(ClassifierConfig()), OptionList::of(EncoderDecoderConfig())})
    for (const OptionList::Entry& entry : list.entries())
      if (entry.option.key == path) return entry.on_resume;
  return OnResume::another_model;
}

}  // namespace gyre
