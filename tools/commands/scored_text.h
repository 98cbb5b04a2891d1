// Options of the commands that score a text with a language model: the model and the text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/data/store/document_store.h"
#include "tools/command_line/option_table.h"
#include "tools/options/model_choice.h"

namespace gyre {

// How the documents of a text are read for a model: as in its training, unless options were given.
struct ScoredDocuments {
  std::string documents;                // empty: as in training, or blank-line if that is unknown
  std::optional<LineEnds> line_ends{};  // empty: as in training, or the default of the vocabulary if that is unknown
  std::string text_field = "text";
  OnBadLine on_bad_line = OnBadLine::by_kind;
};

// Opens the text for a model. Prints to standard error, unless `quiet` is set, which --documents and --line-ends of the
// run apply, how many lines were read, and which were skipped.
Documents open_scored_documents(const ScoredDocuments& options, const Path& model, const std::string& checkpoint,
                                const std::vector<Path>& inputs, const Vocabulary& vocabulary, bool quiet);

struct ScoredText {
  Path model, vocabulary;
  std::vector<Path> inputs;
  std::string checkpoint;
  ScoredDocuments documents;
  BosChoice bos;
  bool quiet = false;  // print nothing to standard error; set by commands with --quiet

  void add_rows(OptionTable& table);
  // Call after resolve(). Throws UsageError for an option that would have no effect.
  void complete(const OptionTable& table);

  // Reads the documents. Also prints to standard error which model is used.
  Documents open(const Vocabulary& with) const;
  // Whether a document begins with BOS for the model.
  bool begins_with_bos(const Vocabulary& with) const { return !bos.before_text(model, checkpoint, with).empty(); }
};

}  // namespace gyre
