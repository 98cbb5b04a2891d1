#include "tools/options/tasks/encoder_options.h"

#include "tools/options/layer_options.h"

namespace gyre {

namespace {

void add_shape_rows(OptionTable& table, EncoderOnlyConfig& c) {
  table.add("--dim-emb,--encoder-embed-dim", c.dim, "NUMBER", "width of the model");
  table.add("--layers,--enc-depth,--encoder-layers", c.layers, "LAYERS", "number of layers");
  table.add("--transformer-heads,--encoder-attention-heads", c.heads, "HEADS", "number of attention heads");
  table.add("--kv-heads", c.kv_heads, "HEADS",
            "heads of keys and values, each shared by a group of heads (grouped-query attention); 0: as many as heads");
  table.add("--head-dim", c.head_dim, "NUMBER", "width of a head; 0: width of the model / heads");
  table.add("--transformer-dim-ffn,--encoder-ffn-embed-dim", c.ffn, "NUMBER", "inner width of the feed-forward blocks");
  table.add_enum("--transformer-ffn-activation,--activation-fn", c.activation,
                 "activation function of the feed-forward blocks");
}

void add_variant_rows(OptionTable& table, EncoderOnlyConfig& c) {
  table.add_enum("--norm-type", c.norm_type, "layer norm, or RMS norm as in LLaMA");
  table.add_flag("--gated-ffn,!--no-gated-ffn", c.gated_ffn,
                 "gated feed-forward blocks, act(gate) x up: SwiGLU with silu, GEGLU with gelu");
  table.add_enum("--biases", c.biases,
                 "biases: all; qkv: those of queries, keys and values only; none: also none in layer norms");
  table.add_flag("--qk-norm,!--no-qk-norm", c.qk_norm, "RMS norm of each head of queries and keys");
  table.add_enum("--residual-form", c.residual_form,
                 "sequential: attention, then feed-forward; parallel: both at once (GPT-NeoX); shared-norm: with one "
                 "norm (GPT-J)");
}

void add_input_output_rows(OptionTable& table, EncoderOnlyConfig& c) {
  table.add("--token-types", c.token_types, "NUMBER",
            "number of token types (segment embeddings); BERT has 2; 0: none");
  table.add("--embedding-dim", c.embedding_dim, "NUMBER",
            "width of the token embeddings, which are projected to the width of the model; 0: the same width");
  table.add_flag("--embedding-norm,!--no-embedding-norm", c.embedding_norm, "layer norm on the sum of the embeddings");
  table.add_flag("--scale-embedding,!--no-scale-embedding", c.scale_embedding,
                 "multiply embeddings by sqrt(width), as usual with sinusoidal positions");
  table.add_flag("--head-transform,!--no-head-transform", c.head_transform,
                 "dense layer, GELU and layer norm before the tied output projection");
  table.add_flag("--output-bias,!--no-output-bias", c.output_bias,
                 "bias of the output projection, one number per token of the vocabulary");
  table.add_flag("--tied-output,--share-decoder-input-output-embed,!--no-tied-output", c.tied_output,
                 "use the token embeddings as the output projection");
  table.add("--initial-deviation", c.initial_deviation, "NUMBER",
            "standard deviation of the normal initial weights (BERT: 0.02); 0: Glorot uniform");
  table.add_flag("--scaled-residual-init,!--no-scaled-residual-init", c.scaled_residual_init,
                 "divide the initial weights that end residual branches by sqrt(2 x layers), as in GPT-2");
}

}  // namespace

std::vector<std::string> encoder_presets() {
  std::vector<std::string> names = EncoderOnlyConfig::preset_names();
  std::erase_if(names, [](const std::string& name) { return EncoderOnlyConfig::preset(name).causal; });
  return names;
}

void add_encoder_options(OptionTable& table, EncoderArgs& args, const std::string& preset_names,
                         const std::vector<std::string>& presets) {
  table.group("Model");
  table.add_custom(
      preset_names, 1, 1, "NAME", "architecture whose values other options override: " + joined(presets),
      [&args, presets](const std::vector<std::string>& values) {
        args = EncoderArgs(chosen_word(values.back(), presets));
      },
      [&args] { return toml_value(args.preset); });
  table.set_completions(presets);
  table.applies_first();
  add_shape_rows(table, args.config);
  add_variant_rows(table, args.config);
  add_input_output_rows(table, args.config);
  add_layer_options(table, args.config);
}

void check_encoder_options(const OptionTable& table, const EncoderOnlyConfig& config) {
  reject_unused_layer_options(table, config);
  EncoderOnlyConfig with_vocabulary = config;
  with_vocabulary.vocab_size = 4;  // any valid size
  validate_model(table, [&] { with_vocabulary.validate(); });
}

}  // namespace gyre
