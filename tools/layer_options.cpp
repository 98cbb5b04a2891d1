#include "tools/layer_options.h"

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

void add_position_rows(OptionTable& table, PositionConfig& p) {
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
            "rows of the learned and sinusoidal tables");
  table.add_enum("--sinusoid-layout", p.sinusoid_layout, "sines and cosines in two halves, or in turn");
  table.add("--rope-base", p.rope_base, "NUMBER", "base of the frequencies");
  table.add_enum("--rope-pairs", p.rope_pairs, "which features of a head turn together");
  table.add("--rotary-dims", p.rotary_dims, "FEATURES", "of a head that turn, from the first; 0: all");
  table.add_flag("--rope-learnable", p.rope_learnable, "train the frequencies");
}

}  // namespace

void add_layer_options(OptionTable& table, ModelConfig& config) {
  add_norm_rows(table, config);
  add_dropout_rows(table, config);
  add_position_rows(table, config.position);
}

void reject_idle_layer_options(const OptionTable& table, const ModelConfig& config) {
  const PositionConfig& p = config.position;
  for (const char* name : {"rope-base", "rope-pairs", "rotary-dims", "rope-learnable"})
    table.reject_idle(name, p.encoding == "rope", "--position is " + p.encoding);
  table.reject_idle("sinusoid-layout", p.encoding == "sinusoidal", "--position is " + p.encoding);
  table.reject_idle("max-positions", p.encoding == "sinusoidal" || p.encoding == "learned",
                    "--position is " + p.encoding);
  table.reject_idle("final-norm", config.norm == NormPlacement::pre, "--norm is post");
}

}  // namespace gyre
