// The trained model that a command uses, the tokens before its texts, and the ensemble of several models. Without
// --checkpoint it is the best checkpoint of a run, which need not be the last.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/ensemble.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Adds --model, which is required, and --checkpoint.
void add_model_rows(OptionTable& table, Path& model, std::string& checkpoint);
// Adds --checkpoint alone.
void add_checkpoint_row(OptionTable& table, std::string& checkpoint);

// Prints a line to standard error: "model: run/checkpoints/step-00000400 (best; the last is step-00000561)".
void print_model_choice(const Path& model, const std::string& checkpoint = "");

// Throws a UsageError if --model is another kind of model, such as one for translation.
void require_language_model(const Path& model);
// The model of --model after require_language_model() and print_model_choice(). vocabulary: as load_trained_model().
TrainedModel<EncoderOnly> load_language_model(const Path& model, const std::string& checkpoint, const Path& vocabulary,
                                              Device device);

// --bos and --no-bos: whether a text begins with the token that begins a document.
class BosChoice {
 public:
  // `table` must outlive the choice.
  void add_row(OptionTable& table);
  // Returns the ids to put before a text that a model reads; empty: none. The default of a model that Gyre has trained
  // is BOS, with which its documents began; that of an imported one follows the files of its tokenizer.
  std::vector<int32_t> before_text(const Path& model, const std::string& checkpoint,
                                   const Vocabulary& vocabulary) const;
  // Throws a UsageError if the choice was given, for a text that has no such choice.
  void reject(const std::string& reason) const;

 private:
  const OptionTable* table_ = nullptr;
  bool is_on_ = true;
};

// Puts `before` before the ids of a text, unless the text begins with the same token, as a prompt may that was written
// for a model. An empty text begins with BOS in any case, because a model needs a token to begin with.
void put_before_text(const std::vector<int32_t>& before, const Vocabulary& vocabulary, std::vector<int32_t>& ids);

// --model, --checkpoint and --vocab of commands that decode with one translation model or with an ensemble.
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

  // The files of --vocab: none, one, or one of the sources and one of the targets.
  const Path& vocabulary() const { return vocabulary_; }
  const Path& target_vocabulary() const { return target_vocabulary_; }
  // The model and the checkpoint of each member.
  std::vector<std::pair<Path, std::string>> members() const;

 private:
  std::vector<Path> models_;
  std::vector<std::string> checkpoints_;
  Path vocabulary_, target_vocabulary_;
  std::vector<double> weights_;
  EnsembleMean mean_ = EnsembleMean::probabilities;
  const OptionTable* table_ = nullptr;
};

}  // namespace gyre
