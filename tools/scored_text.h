// Options of the commands that score a text with a language model: the model and the text.
#pragma once

#include <string>
#include <vector>

#include "gyre/data/store/document_store.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Returns the --documents option that the model was trained with ("whole"; "blank-line" if unknown). Prints it to
// standard error, unless `quiet` is set or the input is a token store, which marks its documents.
std::string trained_documents(const Path& model, const std::string& checkpoint, const std::vector<Path>& inputs,
                              bool quiet);

struct ScoredText {
  Path model, vocabulary;
  std::vector<Path> inputs;
  std::string checkpoint;
  std::string documents;  // empty: as in training
  std::string on_bad_line = "default";
  bool quiet = false;  // print nothing to standard error; set by commands with --quiet

  void add_rows(OptionTable& table);
  // Call after resolve(). Determines `documents`. Throws UsageError for an option that would have no effect.
  void complete(const OptionTable& table);

  // Reads the documents with the sizes of their text. Prints to standard error which model is used, how many lines were
  // read, and which were skipped.
  Documents open(const Vocabulary& with) const;
};

}  // namespace gyre
