// How well a causal language model foretells documents.
#pragma once

#include <cstdint>

#include "core/kernels.h"
#include "data/store_part.h"
#include "models/encoder_only.h"

namespace gyre {

// A document is cut into windows. Without context they follow one another, as fairseq's --context-window 0 and as in
// training; with context each begins that many tokens before the first that it is to foretell (Press et al. 2021).
struct ScoreOptions {
  int max_length = 512;       // rows of a window
  int context = 0;            // of these, seen and not scored; but of a document's first window all are scored
  int64_t batch_rows = 4096;  // worked through at a time
  Precision precision = Precision::fp32;
};

// Sums over all tokens and every </s> of the documents.
struct LanguageScore {
  double nll = 0;  // nats
  uint64_t tokens = 0, correct = 0, documents = 0;
};

// Of the documents in a part of a store; of a single one that is divided, the tokens in the part.
LanguageScore score_documents(const EncoderOnly& model, Kernels& kernels, const StorePart& part,
                              const ScoreOptions& options);

}  // namespace gyre
