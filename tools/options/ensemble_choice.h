// --model, --checkpoint and --vocab of commands that decode with one translation model or with an ensemble.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/ensemble.h"
#include "tools/command_line/option_table.h"

namespace gyre {

struct LoadedEnsemble {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::vector<std::unique_ptr<EncoderDecoder>> models;
  Ensemble ensemble;  // refers to the models
};

class EnsembleChoice {
 public:
  // Adds --model, which is required, --checkpoint, --vocab, --weights and --ensemble-mean. The table must outlive this.
  void add_rows(OptionTable& table);
  // Throws UsageError for numbers of checkpoints or weights that do not fit the models, and for unused options.
  void check() const;
  // Prints a line for each model to standard error.
  void print() const;
  // Throws Error unless all models have the same vocabulary.
  LoadedEnsemble load(Device device) const;

  const Path& vocabulary() const { return vocabulary_; }

 private:
  // The model and the checkpoint of each member.
  std::vector<std::pair<Path, std::string>> members() const;

  std::vector<Path> models_;
  std::vector<std::string> checkpoints_;
  Path vocabulary_;
  std::vector<double> weights_;
  EnsembleMean mean_ = EnsembleMean::probabilities;
  const OptionTable* table_ = nullptr;
};

}  // namespace gyre
