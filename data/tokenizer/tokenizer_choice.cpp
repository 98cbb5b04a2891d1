#include "gyre/data/tokenizer/tokenizer_choice.h"

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/pair_vocabulary.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"

namespace gyre {

// A run compares the vocabulary with that of its checkpoint.
void TokenizerChoice::declare(OptionList& list) {
  list.add(OnResume::same_bits, "--tokenizer", &kind,
           "how to read the vocabulary; auto: as its content says; wobert: a vocab.txt with Chinese words, as WoBERT "
           "and RoFormer do",
           OptionDetails{.also_called = {"tokenizer-type"}});
  list.add(OnResume::same_bits, "--dictionary", &dictionary, "FILE",
           "words and frequencies in jieba's format, which cut the text for --tokenizer wobert");
}

void TokenizerChoice::check() const {
  if (kind == TokenizerKind::wobert && dictionary.empty())
    throw UsageError("--dictionary is missing: --tokenizer wobert needs jieba's dictionary");
  if (kind != TokenizerKind::wobert && !dictionary.empty())
    throw UsageError("--dictionary: expected --tokenizer wobert, got ", enum_name(kind));
}

std::shared_ptr<const Vocabulary> load_vocabulary(const Path& path, const TokenizerChoice& tokenizer) {
  tokenizer.check();
  auto vocabulary = load_vocabulary(path);
  if (tokenizer.kind != TokenizerKind::wobert) return vocabulary;
  return make_wobert_vocabulary(path.string(), *vocabulary, tokenizer.dictionary);
}

std::shared_ptr<const Vocabulary> load_vocabulary(const Path& source, const Path& target,
                                                  const TokenizerChoice& tokenizer) {
  if (target.empty()) return load_vocabulary(source, tokenizer);
  return std::make_shared<PairVocabulary>(concat(source.string(), ", ", target.string()),
                                          load_vocabulary(source, tokenizer), load_vocabulary(target, tokenizer));
}

OptionValue vocabulary_value(Path* source, Path* target) {
  const auto files = [source, target] {
    return target->empty() ? std::vector<Path>{*source} : std::vector<Path>{*source, *target};
  };
  return {1, 2,
          [source, target](const OptionValue::Words& words) {
            *source = words.front();
            *target = words.size() > 1 ? Path(words.back()) : Path();
          },
          [source, target, files] { return target->empty() ? toml_value(*source) : toml_value(files()); },
          [files] { return option_text(files()); }};
}

}  // namespace gyre
