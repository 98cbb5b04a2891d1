#include "gyre/data/tokenizer/tokenizer_choice.h"

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"

namespace gyre {

void TokenizerChoice::check() const {
  if (kind != "auto" && kind != "wobert") throw UsageError("--tokenizer: expected auto or wobert, got ", kind);
  if (kind == "wobert" && dictionary.empty())
    throw UsageError("--dictionary is missing: --tokenizer wobert needs jieba's dictionary");
  if (kind != "wobert" && !dictionary.empty())
    throw UsageError("--dictionary: expected --tokenizer wobert, got ", kind);
}

std::shared_ptr<const Vocabulary> load_vocabulary(const Path& path, const TokenizerChoice& tokenizer) {
  tokenizer.check();
  auto vocabulary = load_vocabulary(path);
  if (tokenizer.kind != "wobert") return vocabulary;
  return make_wobert_vocabulary(path.string(), *vocabulary, tokenizer.dictionary);
}

}  // namespace gyre
