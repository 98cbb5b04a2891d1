// The training options of language models on documents.
#pragma once

#include "gyre/data/batch/document_plan.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/train/options.h"

namespace gyre {

// data.train_sets and data.valid_sets: text files, or one token store of documents. data.max_length: maximum number of
// rows of a sample. batch.unit: total tokens or sentences (samples). validation.metrics: cross-entropy, perplexity,
// accuracy.
struct LanguageOptions : TrainOptions {
  LanguageOptions() {
    data.max_length = 512;
    optimizer.schedule.warmup = 500;
  }
  TokenizerChoice tokenizer;             // how to read the vocabulary
  std::string documents = "blank-line";  // end of a document in text: blank-line, line, whole
  std::string fill = "full";             // how samples are filled: full, sentences, segment (SampleOptions::Fill)
  bool across_documents = false;         // samples continue into the next document
  double validation_share = 0;           // held-out fraction of train_sets' documents, or of a single document
  uint64_t validation_samples = 0;       // number of evenly spaced samples for validation; 0: all

  bool has_validation_data() const override { return validation_share > 0 || !data.valid_sets.empty(); }
  SampleOptions samples(SampleOptions::Task task) const;
  void validate() const;  // throws a UsageError if an option is invalid
};

// The training options of masked language models.
struct MaskedOptions : LanguageOptions {
  double mask_share = 0.15;         // fraction of the tokens to predict
  std::string mask_draw = "exact";  // exact, independent (MaskingOptions::Draw)
  bool whole_words = false;
  void validate() const;
};

}  // namespace gyre
