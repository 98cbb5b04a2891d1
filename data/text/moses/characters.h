// Rules of Moses: classes of characters, and substitutions by regular expressions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gyre::moses {

enum CharacterClass : uint8_t {
  kLetter = 1,       // sacremoses IsAlpha
  kMark = 2,         // viramas and nuktas of Indic scripts, which the tokenizer treats as letters
  kDigit = 4,        // IsAlnum without IsAlpha
  kNumber = 8,       // IsN: digits, fractions, Roman numerals
  kLowercase = 16,   // IsLower
  kCurrency = 32,    // IsSc
  kUnseparated = 64  // kLetter, kMark, kDigit, space and . ' ` , -: the tokenizer puts spaces around all others
};

// Classes by code point. Larger code points belong to no class.
inline constexpr char32_t kClassifiedCharacters = 0x1F000;
extern const std::array<uint8_t, kClassifiedCharacters> kCharacterClasses;

// Returns whether a character belongs to one of the classes, combined with "|".
inline bool is_in(unsigned classes, char32_t c) {
  return c < kClassifiedCharacters && (kCharacterClasses[c] & classes) != 0;
}

// ---- Simple regular expressions of the Moses scripts: a text between two characters of some class ------------------

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
