#include "tools/options/model_options.h"

#include <map>
#include <string_view>

#include "tools/options/layer_options.h"
#include "tools/options/position_options.h"

namespace gyre {

namespace {

using Values = std::vector<std::string>;

constexpr std::string_view kPreNorm = "-prenorm";

// Accepts a preset, Marian's "<preset>-prenorm", or one of fairseq's architecture names.
EncoderDecoderConfig named_config(std::string name) {
  static const std::map<std::string, std::string> fairseq{{"transformer", "transformer-base"},
                                                          {"transformer_wmt_en_de", "transformer-base"},
                                                          {"transformer_wmt_en_de_big", "transformer-big"},
                                                          {"transformer_vaswani_wmt_en_de_big", "transformer-big"}};
  const bool pre_norm = name.ends_with(kPreNorm);
  if (pre_norm) name.resize(name.size() - kPreNorm.size());
  if (const auto known = fairseq.find(name); known != fairseq.end()) name = known->second;
  EncoderDecoderConfig config = EncoderDecoderConfig::preset(chosen_word(name, EncoderDecoderConfig::preset_names()));
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
  table.add("--enc-depth,--encoder-layers", c.encoder_layers, "LAYERS", "number of encoder layers");
  table.add("--dec-depth,--decoder-layers", c.decoder_layers, "LAYERS", "number of decoder layers");
  table.add("--transformer-heads,--encoder-attention-heads", c.heads, "HEADS", "number of attention heads");
  table.add("--transformer-dim-ffn,--encoder-ffn-embed-dim", c.ffn, "NUMBER", "inner width of the feed-forward blocks");
  table.add_enum("--transformer-ffn-activation,--activation-fn", c.activation,
                 "activation function of the feed-forward blocks");
  table.add_flag("--tied-embeddings-all,--share-all-embeddings,!--no-tied-embeddings", c.tied_embeddings,
                 "share the embeddings of source and target");
  table.add_flag("--tied-output,--tied-embeddings,--share-decoder-input-output-embed,!--no-tied-output", c.tied_output,
                 "use the target embeddings as the output projection");
  table.add_flag("--scale-embedding,!--no-scale-embedding", c.scale_embedding, "multiply embeddings by sqrt(width)");
}

}  // namespace

void add_model_options(OptionTable& table, ModelArgs& args) {
  table.group("Model");
  table.add_custom(
      "--task,--arch,--preset", 1, 1, "NAME",
      "architecture whose values other options override: transformer-tiny, -base or -big, also with -prenorm",
      [&args](const Values& values) {
        args.config = named_config(values.back());
        args.task = values.back();
      },
      [&args] { return toml_value(args.task); });
  table.set_completions(preset_words());
  table.applies_first();
  add_shape_rows(table, args.config);
  add_layer_options(table, args.config);
  add_cross_attention_position_options(table, args.config.position);
}

void check_model_options(const OptionTable& table, const EncoderDecoderConfig& config) {
  reject_unused_layer_options(table, config);
  EncoderDecoderConfig with_vocabulary = config;
  with_vocabulary.vocab_size = 4;  // the reserved pieces; any valid size
  validate_model(table, [&] { with_vocabulary.validate(); });
}

}  // namespace gyre
