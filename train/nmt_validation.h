// Validation of a translation model: cross-entropy, and BLEU or chrF of beam search, on held-out pairs; the work is
// shared by the ranks.
//   "cross-entropy": nats per target token without label smoothing, EOS counted; "perplexity": its exponential;
//   "bleu" and "chrf": 0..100, where asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernels.h"
#include "data/vocabulary.h"
#include "models/decode/beam_search.h"
#include "models/encoder_decoder.h"
#include "train/communicator.h"
#include "train/metrics/parallel_lines.h"
#include "train/nmt_options.h"
#include "train/validation.h"

namespace gyre {

// Held-out sentence pairs. Ids are without special ones; the references are plain text.
struct ValidationSet {
  std::vector<std::vector<int32_t>> sources, targets;
  Lines references;
  size_t size() const { return sources.size(); }
};

class NmtValidation final : public Validation {
 public:
  NmtValidation(ValidationSet set, const Vocabulary& vocabulary, const EncoderDecoder& model, Kernels& kernels,
                Communicator& ranks, const NmtOptions& options);

  ValidationResult run() override;

 private:
  bool wants(const std::string& metric) const;
  double cross_entropy();
  Lines translate();                               // all lines on rank 0, nothing elsewhere
  std::string translate_some(size_t chunk) const;  // lines of one chunk, each with its end

  ValidationSet set_;
  std::vector<std::vector<size_t>> chunks_;  // indices into the set, of similar length: one is decoded at a time
  const Vocabulary& vocabulary_;
  const EncoderDecoder& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
  std::vector<std::string> metrics_;
  DecodeOptions decode_;
};

}  // namespace gyre
