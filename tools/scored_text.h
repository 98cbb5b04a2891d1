// What the commands that score a text with a language model take: the run and the text.
#pragma once

#include <string>
#include <vector>

#include "data/document_store.h"
#include "tools/option_table.h"

namespace gyre {

struct ScoredText {
  Path model, vocabulary;
  std::vector<Path> inputs;
  std::string checkpoint, documents = "blank-line", on_bad_line = "default";
  bool quiet = false;  // nothing on standard error; where a command has a --quiet

  void add_rows(OptionTable& table);
  // After resolve(): throws UsageError for an option that was given although nothing reads it.
  void reject_idle(const OptionTable& table) const;

  DocumentEnd document_end() const { return parse_document_end(documents); }
  // With the sizes of the text. Says on standard error how many lines were read, and which were left out.
  Documents open(const Vocabulary& with) const;
};

}  // namespace gyre
