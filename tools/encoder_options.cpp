#include "tools/encoder_options.h"

#include "tools/layer_options.h"

namespace gyre {

namespace {

void add_shape_rows(OptionTable& table, EncoderOnlyConfig& c) {
  table.add("--dim-emb,--encoder-embed-dim", c.dim, "NUMBER", "width of the model");
  table.add("--layers,--enc-depth,--encoder-layers", c.layers, "LAYERS", "of the stack");
  table.add("--transformer-heads,--encoder-attention-heads", c.heads, "HEADS", "of every attention");
  table.add("--transformer-dim-ffn,--encoder-ffn-embed-dim", c.ffn, "NUMBER", "width inside the feed-forward blocks");
  table.add_enum("--transformer-ffn-activation,--activation-fn", c.activation, "between their two layers");
}

void add_ends_rows(OptionTable& table, EncoderOnlyConfig& c) {
  table.add("--token-types", c.token_types, "NUMBER", "kinds of segments within a sequence, as BERT has 2; 0: none");
  table.add_flag("--embedding-norm,!--no-embedding-norm", c.embedding_norm, "a norm on the sum of all embeddings");
  table.add_flag("--scale-embedding,!--no-scale-embedding", c.scale_embedding,
                 "embeddings times sqrt(width), as beside sinusoidal positions");
  table.add_flag("--head-transform,!--no-head-transform", c.head_transform,
                 "dense layer, gelu and norm before the product with the embeddings");
  table.add_flag("--output-bias,!--no-output-bias", c.output_bias, "a number per piece, added to the logits");
  table.add("--initial-deviation", c.initial_deviation, "NUMBER",
            "of the weights at the start, normal as BERT's 0.02; 0: Glorot's uniform");
}

}  // namespace

std::vector<std::string> encoder_presets() {
  std::vector<std::string> names = EncoderOnlyConfig::preset_names();
  std::erase_if(names, [](const std::string& name) { return EncoderOnlyConfig::preset(name).causal; });
  return names;
}

void add_encoder_options(OptionTable& table, EncoderCall& call, const std::string& preset_names,
                         const std::vector<std::string>& presets) {
  table.group("Model");
  std::string listed;
  for (const std::string& name : presets) listed += (listed.empty() ? "" : ", ") + name;
  table.add_custom(
      preset_names, 1, 1, "NAME", "architecture that the other options change: " + listed,
      [&call, presets](const std::vector<std::string>& values) {
        call = EncoderCall(OptionTable::chosen_word(values.back(), presets));
      },
      [&call] { return toml_value(call.preset); });
  table.offer(presets);
  table.applies_first();
  add_shape_rows(table, call.config);
  add_ends_rows(table, call.config);
  add_layer_options(table, call.config);
}

void check_encoder_options(const OptionTable& table, const EncoderOnlyConfig& config) {
  reject_idle_layer_options(table, config);
  EncoderOnlyConfig with_vocabulary = config;
  with_vocabulary.vocab_size = 4;  // any size will do here
  as_usage_error([&] { with_vocabulary.validate(); });
}

}  // namespace gyre
