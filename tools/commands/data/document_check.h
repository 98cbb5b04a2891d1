// The part of `gyre data check` for documents, the data of a language model.
#pragma once

#include <string>
#include <vector>

#include "gyre/data/checking/check_documents.h"
#include "tools/command_line/option_table.h"

namespace gyre {

struct DocumentCheckArgs {
  std::string documents;  // empty: none were asked for
  std::string text_field = "text";
  double near_duplicates = 0.8;
  uint64_t overlap_words = 13;

  void add_rows(OptionTable& table);
  // Whether these sets are documents: the options say so, or the training set is JSON lines or one file of text. Does
  // not read from a pipe, whose bytes would be lost.
  bool are_documents(const OptionTable& table, const std::vector<Path>& train) const;
  // Prints the findings. Returns the exit status: 1 if there is an error.
  int check(const std::vector<Path>& train, const std::vector<Path>& valid, const std::vector<Path>& tests,
            const Vocabulary* vocabulary, bool json) const;
};

}  // namespace gyre
