// The options of training language models on documents: those of every run, and their own.
#pragma once

#include "data/document_plan.h"
#include "train/options.h"

namespace gyre {

// train_sets and valid_sets: text files, or one token store of documents. max_length: rows of a sample. batch_unit:
// tokens or sentences (samples). valid_metrics: cross-entropy, perplexity, accuracy.
struct LanguageOptions : TrainOptions {
  LanguageOptions() {
    max_length = 512;
    optimizer.warmup = 500;
  }
  std::string documents = "blank-line";  // where a document ends in text: blank-line, line, whole
  std::string fill = "full";             // of samples: full, sentences, segment (SampleOptions::Fill)
  bool across_documents = false;         // a sample runs on into the next document
  double validation_share = 0;           // of train_sets' documents, or of a single one, held out; 0: valid_sets only
  uint64_t validation_samples = 0;       // that validation takes, evenly spread; 0: all

  bool has_validation_data() const override { return validation_share > 0 || !valid_sets.empty(); }
  SampleOptions samples(SampleOptions::Task task) const;
  void validate() const;  // throws UsageError
};

// Of masked language models.
struct MaskedOptions : LanguageOptions {
  double mask_share = 0.15;         // of the tokens, to be predicted
  std::string mask_draw = "exact";  // exact, independent (MaskingOptions::Draw)
  bool whole_words = false;
  void validate() const;
};

}  // namespace gyre
