// The choice of a tokenizer for a vocabulary file that serves several.
#pragma once

#include <memory>
#include <string>

#include "gyre/core/io/file.h"
#include "gyre/core/option_list.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct TokenizerChoice {
  std::string kind{"auto"};  // auto: as the content of the file says; wobert: a vocab.txt, read as that kind
  Path dictionary{};         // jieba's dictionary, for the kind wobert (JiebaSegmenter)

  void declare(OptionList& list);
  // Throws a UsageError for an unknown kind, and unless there is a dictionary exactly if the kind needs one.
  void check() const;
};

// Loads a vocabulary with the chosen tokenizer. Throws an Error that names the file and the problem.
std::shared_ptr<const Vocabulary> load_vocabulary(const Path& path, const TokenizerChoice& tokenizer);

}  // namespace gyre
