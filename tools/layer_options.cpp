#include "tools/layer_options.h"

#include <algorithm>

namespace gyre {

namespace {

using Values = std::vector<std::string>;

// Marian writes the order of dropout, add and norm as letters.
void add_norm_rows(OptionTable& table, ModelConfig& c) {
  table.add_enum("--norm", c.norm, "layer norm after each residual sum, or before each block");
  table.add_flag("--final-norm,!--no-final-norm", c.final_norm, "with --norm pre: one more norm on top of each stack");
  table.add("--layer-norm-epsilon", c.layer_norm_epsilon, "NUMBER", "added to the variance");
  table.add_custom("--transformer-postprocess", 1, 1, "dan|da", "Marian's word for --norm post (dan) or pre (da)",
                   [&c](const Values& values) {
                     const std::string word = OptionTable::chosen_word(values.back(), {"dan", "da"});
                     c.norm = word == "dan" ? NormPlacement::post : NormPlacement::pre;
                   });
  table.offer({"dan", "da"});
  table.add_switch("--encoder-normalize-before", "fairseq's word for --norm pre",
                   [&c] { c.norm = NormPlacement::pre; });
}

void add_dropout_rows(OptionTable& table, ModelConfig& c) {
  table.group("Dropout");
  table.add("--transformer-dropout,--dropout", c.dropout, "RATE", "on embeddings and residual branches");
  table.add("--transformer-dropout-attention,--attention-dropout", c.attention_dropout, "RATE",
            "on the attention weights");
  table.add("--transformer-dropout-ffn,--activation-dropout", c.activation_dropout, "RATE",
            "inside the feed-forward blocks");
}

void add_relative_rows(OptionTable& table, PositionConfig& p) {
  table.add("--shaw-clip", p.shaw_clip, "TOKENS", "distances beyond share the vectors of this one");
  table.add_flag("--shaw-values,!--no-shaw-values", p.shaw_values, "relative vectors for the values too");
  table.add("--bias-buckets", p.bias_buckets, "NUMBER", "of distances with a bias, in t5 and tupe");
  table.add("--bias-max-distance", p.bias_max_distance, "TOKENS", "from here on distances share the last bucket");
  table.add_flag("--tupe-bias,!--no-tupe-bias", p.tupe_bias, "a bias by bucket of distance too");
  table.add("--deberta-clip", p.deberta_clip, "TOKENS", "distances beyond share the vectors of this one");
}

void add_wavelet_rows(OptionTable& table, PositionConfig& p) {
  table.add_enum("--wavelet", p.wavelet, "which function of the distance");
  table.add_list("--wavelet-scales", p.wavelet_scales, "NUMBER,...", "its widths; none: 1, 2, 4, .., 8 of them");
  table.add_list("--wavelet-shifts", p.wavelet_shifts, "NUMBER,...",
                 "its centres; none: 0, 1, 2, .., to fill a head with the scales");
  table.add_enum("--wavelet-time", p.wavelet_time, "the sign of the distance");
}

// The encodings that read an option.
struct Readers {
  const char* option;
  std::vector<std::string> encodings;
};
const std::vector<Readers>& position_readers() {
  static const std::vector<Readers> readers{
      {"max-positions", {"sinusoidal", "learned", "tupe"}},
      {"sinusoid-layout", {"sinusoidal"}},
      {"rope-base", {"rope"}},
      {"rope-pairs", {"rope"}},
      {"rotary-dims", {"rope"}},
      {"rope-learnable", {"rope"}},
      {"rope-step", {"rope"}},
      {"rope-scaling", {"rope"}},
      {"rope-scaling-factor", {"rope"}},
      {"rope-original-length", {"rope"}},
      {"shaw-clip", {"shaw"}},
      {"shaw-values", {"shaw"}},
      {"bias-buckets", {"t5", "tupe"}},
      {"bias-max-distance", {"t5", "tupe"}},
      {"tupe-bias", {"tupe"}},
      {"deberta-clip", {"deberta"}},
      {"wavelet", {"wavelet"}},
      {"wavelet-scales", {"wavelet"}},
      {"wavelet-shifts", {"wavelet"}},
      {"wavelet-time", {"wavelet"}},
  };
  return readers;
}

}  // namespace

void add_rope_options(OptionTable& table, PositionConfig& p) {
  table.add("--rope-base", p.rope_base, "NUMBER", "base of the frequencies");
  table.add_enum("--rope-pairs", p.rope_pairs, "which features of a head turn together");
  table.add("--rotary-dims", p.rotary_dims, "FEATURES", "of a head that turn, from the first; 0: all");
  table.add("--rope-step", p.rope_step, "NUMBER", "distance of neighbouring tokens");
  table.add_enum("--rope-scaling", p.rope_scaling, "how to reach beyond the length of training");
  table.add("--rope-scaling-factor", p.rope_scaling_factor, "NUMBER", "the longer length, divided by that of training");
  table.add("--rope-original-length", p.rope_original_length, "TOKENS", "the length of training, for yarn");
}

void add_position_options(OptionTable& table, PositionConfig& p) {
  const auto encoding = [&table, &p](const std::string& names, const std::string& word, const std::string& value) {
    table.add_switch(names, word + "'s word for --position " + value, [&p, value] { p.encoding = value; });
  };
  table.group("Position encoding");
  table.add_choice("--position", p.encoding, position_encoding_names(), "how the model learns of order");
  encoding("--transformer-train-position-embeddings", "Marian", "learned");
  encoding("--encoder-learned-pos", "fairseq", "learned");
  encoding("--transformer-disable-position-embeddings", "Marian", "none");
  encoding("--no-token-positional-embeddings", "fairseq", "none");
  table.add("--max-positions,--max-source-positions", p.max_positions, "TOKENS",
            "rows of the learned, sinusoidal and tupe tables");
  table.add_enum("--sinusoid-layout", p.sinusoid_layout, "sines and cosines in two halves, or in turn");
  add_rope_options(table, p);
  table.add_flag("--rope-learnable", p.rope_learnable, "train the frequencies");
  add_relative_rows(table, p);
  add_wavelet_rows(table, p);
}

void reject_idle_rope_options(const OptionTable& table, const PositionConfig& p) {
  const std::string scaling = "--rope-scaling is " + std::string(enum_name(p.rope_scaling));
  table.reject_idle("rope-scaling-factor", p.rope_scaling != RopeScaling::none, scaling);
  table.reject_idle("rope-original-length", p.rope_scaling == RopeScaling::yarn, scaling);
}

void reject_idle_position_options(const OptionTable& table, const PositionConfig& p) {
  for (const auto& [option, encodings] : position_readers()) {
    const bool read = std::find(encodings.begin(), encodings.end(), p.encoding) != encodings.end();
    table.reject_idle(option, read, "--position is " + p.encoding);
  }
  reject_idle_rope_options(table, p);
  for (const char* name : {"bias-buckets", "bias-max-distance"})
    table.reject_idle(name, p.encoding == "t5" || p.tupe_bias, "--tupe-bias is false");
}

void add_attention_options(OptionTable& table, AttentionConfig& a) {
  table.group("Attention");
  table.add_enum("--attention", a.kind, "how the rows of a text attend to one another");
  table.add("--attention-window", a.window, "TOKENS",
            "seen with --attention window: the last ones, or half before, half after");
  table.add_enum("--linear-map", a.linear_map, "features of queries and keys, with --attention linear");
  table.add_enum("--linear-rope", a.linear_rope,
                 "where --position rope turns: the features, in the numerator alone, or queries and keys before");
  table.add("--favor-features", a.favor_features, "NUMBER",
            "random features of a head, with --linear-map favor+; 0: width x ln(width)");
  table.add("--favor-redraw", a.favor_redraw, "UPDATES", "after which they are drawn anew in training; 0: never");
}

void reject_idle_order_options(const OptionTable& table, const AttentionConfig& a, const PositionConfig& position) {
  const std::string kind = "--attention is " + std::string(enum_name(a.kind));
  const bool linear = a.kind == AttentionKind::linear;
  reject_idle_position_options(table, position);
  table.reject_idle("attention-window", a.kind == AttentionKind::window, kind);
  table.reject_idle("linear-map", linear, kind);
  table.reject_idle("linear-rope", linear && position.encoding == "rope",
                    linear ? "--position is " + position.encoding : kind);
  for (const char* name : {"favor-features", "favor-redraw"})
    table.reject_idle(name, a.uses_favor(), linear ? "--linear-map is " + std::string(enum_name(a.linear_map)) : kind);
}

void add_layer_options(OptionTable& table, ModelConfig& config) {
  add_norm_rows(table, config);
  add_dropout_rows(table, config);
  add_attention_options(table, config.attention);
  add_position_options(table, config.position);
}

void reject_idle_layer_options(const OptionTable& table, const ModelConfig& config) {
  reject_idle_order_options(table, config.attention, config.position);
  table.reject_idle("final-norm", config.norm == NormPlacement::pre, "--norm is post");
}

}  // namespace gyre
