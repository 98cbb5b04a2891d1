// The model card of an exported model: a README.md as the Hugging Face Hub reads it
// (https://huggingface.co/docs/hub/model-cards). It states only facts that the run recorded, and file names without
// their directories.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

// Facts that no run records. Empty: left out.
struct CardOptions {
  std::string title;              // default: the name of the run's directory
  std::string language, license;  // identifiers of the hub: "en", "mit"

  void validate() const;  // throws a UsageError for text that is not one line
};

// The model as it was exported.
struct CardModel {
  Path path;                               // as given to the command: a run, a checkpoint or its weights
  std::string checkpoint;                  // which one of a run (train/checkpoint/model_file.h)
  Path config;                             // config.json of transformers
  std::string description;                 // of Gyre's config
  int64_t parameters = 0;                  // number of elements
  const Vocabulary* vocabulary = nullptr;  // nullptr: none
};

// Returns the text of the card.
std::string model_card(const CardModel& model, const CardOptions& options);

}  // namespace gyre
