// Applies the simple regular expressions of the Moses scripts: a fixed text between two characters of some class.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gyre::moses {

using CharacterTest = bool (*)(char32_t);

// Like s/(BEFORE)FROM(AFTER)/$1TO$2/g: replaces a text if the characters around it pass the tests. Without a test there
// may be no character. Matches do not overlap: the character after one cannot be the character before the next one.
struct Substitution {
  std::u32string_view from, to;
  CharacterTest before = nullptr, after = nullptr;
};

// Applies the substitutions to the text, one after another.
void substitute(std::span<const Substitution> substitutions, std::u32string& text);

}  // namespace gyre::moses
