// --bos and --no-bos: whether a text begins with the token that begins a document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "tools/command_line/option_table.h"

namespace gyre {

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

}  // namespace gyre
