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

inline Tensor ids_of(const std::vector<int32_t>& values) { return Tensor::from({int64_t(values.size())}, values); }

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
