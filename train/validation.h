// Validation: cross-entropy, and BLEU or chrF of beam search, on held-out pairs; the work is shared by the ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/kernels.h"
#include "data/vocabulary.h"
#include "models/decode/beam_search.h"
#include "models/encoder_decoder.h"
#include "train/communicator.h"
#include "train/metrics/parallel_lines.h"
#include "train/options.h"

namespace gyre {

// Held-out sentence pairs. Ids are without special ones; the references are plain text.
struct ValidationSet {
  std::vector<std::vector<int32_t>> sources, targets;
  Lines references;
  size_t size() const { return sources.size(); }
};

struct ValidationResult {
  // "cross-entropy": nats per target token without label smoothing, EOS counted; "perplexity": its exponential;
  // "bleu" and "chrf": 0..100, where asked for.
  std::map<std::string, double> metrics;
  double seconds = 0;
};

inline bool higher_is_better(const std::string& metric) { return metric == "bleu" || metric == "chrf"; }

class Validator {
 public:
  Validator(ValidationSet set, const Vocabulary& vocabulary, EncoderDecoder& model, Kernels& kernels,
            Communicator& ranks, const TrainOptions& options);

  // Collective. The numbers are the same on all ranks, and do not depend on their number.
  ValidationResult run();

 private:
  bool wants(const std::string& metric) const;
  double cross_entropy();
  Lines translate();                               // all lines on rank 0, nothing elsewhere
  std::string translate_some(size_t chunk) const;  // lines of one chunk, each with its end

  ValidationSet set_;
  std::vector<std::vector<size_t>> chunks_;  // indices into the set, of similar length: one is decoded at a time
  const Vocabulary& vocabulary_;
  EncoderDecoder& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
  std::vector<std::string> metrics_;
  DecodeOptions decode_;
};

}  // namespace gyre
