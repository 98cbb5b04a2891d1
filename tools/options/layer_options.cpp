#include "tools/options/layer_options.h"

#include "tools/options/position_options.h"

namespace gyre {

namespace {

using Values = std::vector<std::string>;

// Marian writes the order of dropout, add and norm as letters.
void add_norm_rows(OptionTable& table, ModelConfig& c) {
  table.add_enum("--norm", c.norm, "layer norm after each residual sum, or before each block");
  table.add_flag("--final-norm,!--no-final-norm", c.final_norm, "with --norm pre: a final norm on top of each stack");
  table.add("--layer-norm-epsilon", c.layer_norm_epsilon, "NUMBER", "epsilon of layer norm, added to the variance");
  table.add_custom("--transformer-postprocess", 1, 1, "dan|da", "Marian's name for --norm post (dan) or pre (da)",
                   [&c](const Values& values) {
                     const std::string word = OptionTable::chosen_word(values.back(), {"dan", "da"});
                     c.norm = word == "dan" ? NormPlacement::post : NormPlacement::pre;
                   });
  table.set_completions({"dan", "da"});
  table.add_switch("--encoder-normalize-before", "fairseq's name for --norm pre",
                   [&c] { c.norm = NormPlacement::pre; });
}

void add_dropout_rows(OptionTable& table, ModelConfig& c) {
  table.group("Dropout");
  table.add("--transformer-dropout,--dropout", c.dropout, "RATE", "dropout rate of embeddings and residual branches");
  table.add("--transformer-dropout-attention,--attention-dropout", c.attention_dropout, "RATE",
            "dropout rate of the attention weights");
  table.add("--transformer-dropout-ffn,--activation-dropout", c.activation_dropout, "RATE",
            "dropout rate inside the feed-forward blocks");
}

}  // namespace

void add_attention_options(OptionTable& table, AttentionConfig& a) {
  table.group("Attention");
  table.add_enum("--attention", a.kind, "kind of self-attention");
  table.add("--attention-window", a.window, "TOKENS",
            "window size of --attention window: the last tokens if causal, else half on each side");
  table.add_enum("--linear-map", a.linear_map, "feature map of --attention linear");
  table.add_enum(
      "--linear-rope", a.linear_rope,
      "operands of the rotation with --attention linear: mapped features, or queries and keys before the map");
  table.add("--favor-features", a.favor_features, "NUMBER",
            "random features of a head with --linear-map favor+; 0: width x ln(width)");
  table.add("--favor-redraw", a.favor_redraw, "UPDATES",
            "redraw the random features after this many updates; 0: never");
}

void reject_unused_attention_and_position_options(const OptionTable& table, const AttentionConfig& a,
                                                  const PositionConfig& position) {
  const std::string kind = "--attention is " + std::string(enum_name(a.kind));
  const bool linear = a.kind == AttentionKind::linear;
  reject_unused_position_options(table, position);
  table.reject_unused("attention-window", a.kind == AttentionKind::window, kind);
  table.reject_unused("linear-map", linear, kind);
  table.reject_unused("linear-rope", linear && position.encoding == "rope",
                      linear ? "--position is " + position.encoding : kind);
  for (const char* name : {"favor-features", "favor-redraw"})
    table.reject_unused(name, a.uses_favor(),
                        linear ? "--linear-map is " + std::string(enum_name(a.linear_map)) : kind);
}

void add_layer_options(OptionTable& table, ModelConfig& config) {
  add_norm_rows(table, config);
  add_dropout_rows(table, config);
  add_attention_options(table, config.attention);
  add_position_options(table, config.position);
}

void reject_unused_layer_options(const OptionTable& table, const ModelConfig& config) {
  reject_unused_attention_and_position_options(table, config.attention, config.position);
  table.reject_unused("final-norm", config.norm == NormPlacement::pre, "--norm is post");
}

}  // namespace gyre
