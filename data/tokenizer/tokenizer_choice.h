// The choice of a tokenizer for a vocabulary file that serves several.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/option_list.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

// by_content: as the content of the file says; wobert: a vocab.txt, read as that kind.
enum class TokenizerKind : uint8_t { by_content, wobert };
template <>
inline constexpr std::pair<TokenizerKind, std::string_view> kEnumNames<TokenizerKind>[] = {
    {TokenizerKind::by_content, "auto"}, {TokenizerKind::wobert, "wobert"}};

struct TokenizerChoice {
  TokenizerKind kind{};
  Path dictionary{};  // jieba's dictionary, for the kind wobert (JiebaSegmenter)

  void declare(OptionList& list);
  // Throws a UsageError unless there is a dictionary exactly if the kind needs one.
  void check() const;
};

// Loads a vocabulary with the chosen tokenizer. Throws an Error that names the file and the problem.
std::shared_ptr<const Vocabulary> load_vocabulary(const Path& path, const TokenizerChoice& tokenizer);
// Loads a pair of vocabularies, or `source` alone if there is no target.
std::shared_ptr<const Vocabulary> load_vocabulary(const Path& source, const Path& target,
                                                  const TokenizerChoice& tokenizer = {});

// The value of --vocab of translation: one file, or two.
OptionValue vocabulary_value(Path* source, Path* target);

}  // namespace gyre
