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

namespace {

void substitute(const Substitution& substitution, std::u32string& text) {
  const auto& [from, to, before, after] = substitution;
  std::u32string result;
  size_t end = 0;  // end of the last match
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at)) {
    const size_t next = at + from.size();
    if ((before && (at == end || !before(text[at - 1]))) || (after && (next == text.size() || !after(text[next])))) {
      ++at;
      continue;
    }
    result.append(text, end, at - end) += to;
    if (after) result += text[next];
    at = end = next + (after ? 1 : 0);
  }
  if (end > 0) text = result.append(text, end);
}

}  // namespace

void substitute(std::span<const Substitution> substitutions, std::u32string& text) {
  for (const Substitution& substitution : substitutions) substitute(substitution, text);
}

}  // namespace gyre::moses
