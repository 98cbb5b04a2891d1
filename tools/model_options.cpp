#include "tools/model_options.h"

#include <map>
#include <string_view>

namespace gyre {

namespace {

using Values = std::vector<std::string>;

constexpr std::string_view kPreNorm = "-prenorm";

// A preset, Marian's "<preset>-prenorm", or the name of an architecture in fairseq.
EncoderDecoderConfig named_config(std::string name) {
  static const std::map<std::string, std::string> fairseq{{"transformer", "transformer-base"},
                                                          {"transformer_wmt_en_de", "transformer-base"},
                                                          {"transformer_wmt_en_de_big", "transformer-big"},
                                                          {"transformer_vaswani_wmt_en_de_big", "transformer-big"}};
  const bool pre_norm = name.ends_with(kPreNorm);
  if (pre_norm) name.resize(name.size() - kPreNorm.size());
  if (const auto known = fairseq.find(name); known != fairseq.end()) name = known->second;
  EncoderDecoderConfig config =
      EncoderDecoderConfig::preset(OptionTable::chosen_word(name, EncoderDecoderConfig::preset_names()));
  if (pre_norm) config.norm = NormPlacement::pre;
  return config;
}

void add_shape_rows(OptionTable& table, EncoderDecoderConfig& c) {
  table.add("--dim-emb,--encoder-embed-dim", c.dim, "NUMBER", "width of the model");
  table.add("--enc-depth,--encoder-layers", c.encoder_layers, "LAYERS", "of the encoder");
  table.add("--dec-depth,--decoder-layers", c.decoder_layers, "LAYERS", "of the decoder");
  table.add("--transformer-heads,--encoder-attention-heads", c.heads, "HEADS", "of every attention");
  table.add("--transformer-dim-ffn,--encoder-ffn-embed-dim", c.ffn, "NUMBER", "width inside the feed-forward blocks");
  table.add_enum("--transformer-ffn-activation,--activation-fn", c.activation, "between their two layers");
  table.add_flag("--tied-embeddings-all,--share-all-embeddings,!--no-tied-embeddings", c.tied_embeddings,
                 "source and target share one table of embeddings");
  table.add_flag("--tied-output,--tied-embeddings,--share-decoder-input-output-embed,!--no-tied-output", c.tied_output,
                 "the output projection is the target's table of embeddings");
  table.add_flag("--scale-embedding,!--no-scale-embedding", c.scale_embedding, "embeddings times sqrt(width)");
}

// Marian writes the order of dropout, add and norm as letters.
void add_norm_rows(OptionTable& table, EncoderDecoderConfig& c) {
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

void add_dropout_rows(OptionTable& table, EncoderDecoderConfig& c) {
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
  table.add_flag("--rope-rotate-cross", p.rope_rotate_cross, "turn queries and keys of cross-attention too");
}

}  // namespace

void add_model_options(OptionTable& table, ModelCall& call) {
  table.group("Model");
  table.add_custom(
      "--task,--arch,--preset", 1, 1, "NAME",
      "architecture that the other options change: transformer-tiny, -base or -big, also with -prenorm",
      [&call](const Values& values) {
        call.config = named_config(values.back());
        call.task = values.back();
      },
      [&call] { return toml_value(call.task); });
  add_shape_rows(table, call.config);
  add_norm_rows(table, call.config);
  add_dropout_rows(table, call.config);
  add_position_rows(table, call.config.position);
}

void check_model_options(const OptionTable& table, const EncoderDecoderConfig& config) {
  const PositionConfig& p = config.position;
  for (const char* name : {"rope-base", "rope-pairs", "rotary-dims", "rope-learnable", "rope-rotate-cross"})
    table.reject_idle(name, p.encoding == "rope", "--position is " + p.encoding);
  table.reject_idle("sinusoid-layout", p.encoding == "sinusoidal", "--position is " + p.encoding);
  table.reject_idle("max-positions", p.encoding == "sinusoidal" || p.encoding == "learned",
                    "--position is " + p.encoding);
  table.reject_idle("final-norm", config.norm == NormPlacement::pre, "--norm is post");
  EncoderDecoderConfig with_vocabulary = config;
  with_vocabulary.vocab_size = 4;  // the reserved pieces: any size will do here
  try {
    with_vocabulary.validate();
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace gyre
