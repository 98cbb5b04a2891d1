#include "gyre/data/text/moses/characters.h"

namespace gyre::moses {

namespace {

struct Range {
  char32_t first, last, step = 1;
};

#include "gyre/data/text/moses/character_tables.inc"

constexpr std::array<uint8_t, kClassifiedCharacters> make_classes() {
  std::array<uint8_t, kClassifiedCharacters> classes{};
  const auto add = [&classes](const auto& ranges, unsigned added) {
    for (const Range& range : ranges) {
      for (char32_t c = range.first; c <= range.last; c += range.step) classes[c] |= uint8_t(added);
    }
  };
  add(kLetters, kLetter | kUnseparated);
  add(kMarks, kMark | kUnseparated);
  add(kDigits, kDigit | kUnseparated);
  add(kNumbers, kNumber);
  add(kLowercaseLetters, kLowercase);
  add(kCurrencySymbols, kCurrency);
  for (const char c : {' ', '.', '\'', '`', ',', '-'}) classes[uint8_t(c)] |= kUnseparated;
  return classes;
}

}  // namespace

constinit const std::array<uint8_t, kClassifiedCharacters> kCharacterClasses = make_classes();

}  // namespace gyre::moses
