// Validation of a translation model on held-out pairs, which the ranks divide among themselves: cross-entropy, and BLEU
// or chrF of beam search.
//   "cross-entropy"  nats per target token including EOS, without label smoothing
//   "perplexity"     exponential of the cross-entropy
//   "bleu", "chrf"   0..100, if listed in options.valid_metrics
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/beam_search.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/job_context.h"
#include "gyre/train/metrics/parallel_lines.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "gyre/train/validation.h"

namespace gyre {

// Held-out sentence pairs. The ids contain no special ids; texts and references are plain text.
struct NmtValidationSet {
  std::vector<std::vector<int32_t>> sources, targets;
  Lines source_texts, references;
  size_t size() const { return sources.size(); }
};

class NmtValidation final : public Validation {
 public:
  NmtValidation(NmtValidationSet set, const Vocabulary& vocabulary, const EncoderDecoder& model,
                const JobContext& context, const NmtOptions& options);

  ValidationBasis basis() const override;
  ValidationResult run() override;

 private:
  bool translates() const { return wants("bleu") || wants("chrf"); }
  bool wants(const std::string& metric) const;
  double cross_entropy();
  Lines translate();                               // returns all lines on rank 0, none on other ranks
  std::string translate_some(size_t chunk) const;  // returns the lines of one chunk, each with a line break
  std::vector<ValidationSample> first_samples(const Lines& hypotheses) const;

  NmtValidationSet set_;
  std::vector<std::vector<size_t>> chunks_;  // indices into the set; sentences of similar length decoded together
  const Vocabulary& vocabulary_;
  const EncoderDecoder& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
  std::vector<std::string> metrics_;
  DecodeOptions decode_;
};

}  // namespace gyre
