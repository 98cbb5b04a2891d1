// Character classes of the Moses tokenizer, as sacremoses has them: those of an old Unicode version, without CJK.
#pragma once

#include <array>
#include <cstdint>

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

}  // namespace gyre::moses
