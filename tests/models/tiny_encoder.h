// A tiny encoder-only model and a batch for it.
#pragma once

#include "gyre/models/encoder_only.h"
#include "tests/models/tiny_model.h"

namespace gyre::test {

inline EncoderOnlyConfig tiny_encoder(const std::string& position = "rope", NormPlacement norm = NormPlacement::post,
                                      bool output_bias = false) {
  EncoderOnlyConfig c;
  c.vocab_size = 11;
  c.dim = 8;
  c.ffn = 12;
  c.heads = c.layers = 2;
  c.norm = norm;
  c.output_bias = output_bias;
  c.position = tiny_position(position);
  return c;
}

inline EncoderOnlyConfig causal_encoder(const std::string& position, NormPlacement norm = NormPlacement::pre) {
  EncoderOnlyConfig c = tiny_encoder(position, norm);
  c.causal = true;
  return c;
}

// Causal models with the blocks of LLaMA, Qwen, GPT-NeoX, GPT-J and GPT-2, mixtures of them, and wide heads.
inline std::vector<EncoderOnlyConfig> tiny_decoders() {
  EncoderOnlyConfig plain = causal_encoder("rope");
  plain.head_transform = false;
  std::vector<EncoderOnlyConfig> all(7, plain);
  EncoderOnlyConfig &llama = all[0], &qwen = all[1], &neox = all[2], &gpt_j = all[3], &gpt2 = all[4], &mixed = all[5],
                    &wide = all[6];
  llama.norm_type = qwen.norm_type = mixed.norm_type = NormType::rms;
  llama.gated_ffn = qwen.gated_ffn = mixed.gated_ffn = true;
  llama.activation = qwen.activation = Activation::silu;
  llama.biases = Biases::none;
  llama.kv_heads = qwen.kv_heads = mixed.kv_heads = 1;
  llama.tied_output = neox.tied_output = false;
  qwen.biases = Biases::qkv;
  qwen.qk_norm = true;
  neox.residual_form = ResidualForm::parallel;
  gpt_j.residual_form = ResidualForm::shared_norm;
  gpt_j.biases = Biases::none;  // layer norms without biases
  gpt2.activation = Activation::gelu_tanh;
  gpt2.scaled_residual_init = true;
  mixed.position = tiny_position("alibi");
  mixed.norm = NormPlacement::post;
  wide.head_dim = 6;
  wide.kv_heads = 1;
  wide.qk_norm = true;
  mixed.attention = {.kind = AttentionKind::window, .window = 3};
  return all;
}

inline Tensor ids_of(const std::vector<int32_t>& values) { return Tensor::from({int64_t(values.size())}, values); }

inline const Sentences kSentences = {{4, 7, 3, 9}, {5}, {10, 6, 8}};

// A batch of the sentences in which rows 5, 0 and 3 are predicted.
inline MaskedInput masked_batch(const Sentences& sentences) {
  std::vector<int32_t> all, lengths;
  for (const auto& s : sentences) {
    all.insert(all.end(), s.begin(), s.end());
    lengths.push_back(int32_t(s.size()));
  }
  return {ids_of(all), Segments::from_lengths(lengths), ids_of({5, 0, 3}), ids_of({2, 9, 1})};
}

}  // namespace gyre::test
