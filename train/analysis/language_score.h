// Scores documents with a causal language model (perplexity, accuracy).
#pragma once

#include <cstdint>
#include <functional>

#include "gyre/core/kernels/kernels.h"
#include "gyre/data/store/document_store.h"
#include "gyre/models/encoder_only.h"

namespace gyre {

// A document is split into windows. Without context, windows do not overlap, as with fairseq's --context-window 0 and
// in training. With context, each window begins that number of tokens before the first one that it scores (Press et al.
// 2021).
struct ScoreOptions {
  int max_length = 512;       // rows of a window
  int context = 0;            // first rows of a window that are not scored, except in a document's first window
  int64_t batch_rows = 4096;  // rows per batch
  // Whether a window begins with BOS, unless its first token is BOS. Otherwise nothing predicts its first token, which
  // is not scored.
  bool bos = true;
  Precision precision = Precision::fp32;
  std::function<void(uint64_t tokens)> on_tokens{};  // called with the number of tokens that were scored so far
};

// Sums over all tokens and every </s> of the documents.
struct LanguageScore {
  double nll = 0;  // nats
  uint64_t tokens = 0, correct = 0, documents = 0;
};

// Scores the documents in a part of a store. If a single document is divided between the parts, scores its tokens in
// the part. Throws if the model is not causal, an option is out of range or the part is empty.
LanguageScore score_documents(const EncoderOnly& model, Kernels& kernels, const StorePart& part,
                              const ScoreOptions& options);

}  // namespace gyre
