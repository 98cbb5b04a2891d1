// What the commands that score a text with a language model take: the run and the text.
#pragma once

#include <string>
#include <vector>

#include "data/document_store.h"
#include "tools/option_table.h"

namespace gyre {

// Where a document ends in the text that a model was trained on ("whole"), and says so on standard error, unless
// `quiet` or the input is a token store, in which the documents are marked.
std::string trained_documents(const Path& model, const std::string& checkpoint, const std::vector<Path>& inputs,
                              bool quiet);

struct ScoredText {
  Path model, vocabulary;
  std::vector<Path> inputs;
  std::string checkpoint;
  std::string documents;  // empty: as the model was trained
  std::string on_bad_line = "default";
  bool quiet = false;  // nothing on standard error; where a command has a --quiet

  void add_rows(OptionTable& table);
  // After resolve(): settles `documents`. Throws UsageError for an option that was given although nothing reads it.
  void complete(const OptionTable& table);

  // With the sizes of the text. Says on standard error which model is scored, how many lines were read, and which were
  // left out.
  Documents open(const Vocabulary& with) const;
};

}  // namespace gyre
