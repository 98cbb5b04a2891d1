#include "tools/model_options.h"

#include <map>
#include <string_view>

#include "tools/layer_options.h"

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

std::vector<std::string> preset_words() {
  std::vector<std::string> words = EncoderDecoderConfig::preset_names();
  for (const std::string& name : EncoderDecoderConfig::preset_names()) words.push_back(name + std::string(kPreNorm));
  return words;
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
  table.offer(preset_words());
  table.applies_first();
  add_shape_rows(table, call.config);
  add_layer_options(table, call.config);
  table.add_flag("--rope-rotate-cross", call.config.position.rope_rotate_cross,
                 "turn queries and keys of cross-attention too");
}

void check_model_options(const OptionTable& table, const EncoderDecoderConfig& config) {
  reject_idle_layer_options(table, config);
  table.reject_idle("rope-rotate-cross", config.position.encoding == "rope",
                    "--position is " + config.position.encoding);
  EncoderDecoderConfig with_vocabulary = config;
  with_vocabulary.vocab_size = 4;  // the reserved pieces: any size will do here
  as_usage_error([&] { with_vocabulary.validate(); });
}

}  // namespace gyre
