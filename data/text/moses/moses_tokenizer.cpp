#include "gyre/data/text/moses/moses_tokenizer.h"

#include <algorithm>
#include <span>

#include "gyre/data/text/moses/characters.h"
#include "gyre/data/text/utf8.h"

namespace gyre {
namespace {

#include "gyre/data/text/moses/nonbreaking_prefixes.inc"

struct PrefixLists {
  std::span<const std::u32string_view> always, before_number = {};
};

PrefixLists prefixes(MosesLanguage language) {
  switch (language) {
    case MosesLanguage::english:
      return {kEnglishPrefixes, kEnglishNumericPrefixes};
    case MosesLanguage::german:
      return {kGermanPrefixes};
    case MosesLanguage::french:
      return {kFrenchPrefixes};
    case MosesLanguage::spanish:
      return {kSpanishPrefixes};
    case MosesLanguage::italian:
      return {kItalianPrefixes, kItalianNumericPrefixes};
    case MosesLanguage::czech:
      return {kCzechPrefixes};
    case MosesLanguage::russian:
      return {kRussianPrefixes};
  }
  return {};
}

}  // namespace

moses::Prefix moses::find_prefix(MosesLanguage language, std::u32string_view word) {
  const PrefixLists lists = prefixes(language);
  if (std::ranges::binary_search(lists.always, word)) return Prefix::always;
  return std::ranges::binary_search(lists.before_number, word) ? Prefix::before_number : Prefix::none;
}

namespace {

using namespace moses;

// A period in a run of several, which form one token. It is not a Unicode character, so that no rule applies to it.
constexpr char32_t kPeriodInRun = 0x110000;

bool is_letter(char32_t c) { return is_in(kLetter | kMark, c); }
bool is_alphanumeric(char32_t c) { return is_in(kLetter | kMark | kDigit, c); }
bool is_number(char32_t c) { return is_in(kNumber, c); }
bool is_no_letter(char32_t c) { return !is_letter(c); }
bool is_no_number(char32_t c) { return !is_number(c); }
bool is_no_letter_or_number(char32_t c) { return !is_in(kLetter | kMark | kNumber, c); }
bool is_s(char32_t c) { return c == 's'; }

// A comma stays within a number: "5,300".
constexpr Substitution kCommas[] = {{U",", U" , ", is_no_number, nullptr}, {U",", U" , ", nullptr, is_no_number}};

// Contractions stay with their apostrophe: "it 's", "1990 's".
constexpr Substitution kEnglishApostrophes[] = {{U"'", U" ' ", is_no_letter, is_no_letter},
                                                {U"'", U" ' ", is_no_letter_or_number, is_letter},
                                                {U"'", U" ' ", is_letter, is_no_letter},
                                                {U"'", U" '", is_letter, is_letter},
                                                {U"'", U" '", is_number, is_s}};

// An elided word keeps its apostrophe: "l' homme".
constexpr Substitution kRomanceApostrophes[] = {{U"'", U" ' ", is_no_letter, is_no_letter},
                                                {U"'", U" ' ", is_no_letter, is_letter},
                                                {U"'", U" ' ", is_letter, is_no_letter},
                                                {U"'", U"' ", is_letter, is_letter}};

constexpr Substitution kOtherApostrophes[] = {{U"'", U" ' "}};

std::span<const Substitution> apostrophes(MosesLanguage language) {
  switch (language) {
    case MosesLanguage::english:
      return kEnglishApostrophes;
    case MosesLanguage::french:
    case MosesLanguage::italian:
      return kRomanceApostrophes;
    default:
      return kOtherApostrophes;
  }
}

// Decodes a line. Runs of white space become one space, control characters disappear.
std::u32string decode(std::string_view line) {
  std::u32string text = code_points(line);
  size_t size = 0;
  bool after_space = true;
  for (const char32_t c : text) {
    const bool space = is_space(c);
    if (space ? !after_space : c >= ' ') text[size++] = space ? U' ' : c;
    after_space = space;
  }
  while (size > 0 && text[size - 1] == ' ') --size;
  text.resize(size);
  text.erase(0, text.find_first_not_of(U' '));
  return text;
}

// Puts spaces around symbols, runs of periods and, if `hyphens`, hyphens within words.
std::u32string separate_symbols(std::u32string_view text, bool hyphens) {
  std::u32string result;
  result.reserve(text.size() + text.size() / 4);
  for (size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    const char32_t next = i + 1 < text.size() ? text[i + 1] : 0;
    if (!is_in(kUnseparated, c)) {
      (result += ' ') += c;
      result += ' ';
    } else if (c == '.' && next == '.') {
      const size_t end = std::min(text.find_first_not_of(U'.', i), text.size());
      (result += ' ').append(end - i, kPeriodInRun);
      if (end < text.size()) result += ' ';
      i = end - 1;
    } else if (hyphens && c == '-' && i > 0 && is_alphanumeric(text[i - 1]) && is_alphanumeric(next)) {
      result += U" @-@ ";
    } else {
      result += c;
    }
  }
  return result;
}

void separate_final_comma(std::u32string& text) {
  if (text.size() >= 2 && text.back() == ',' && is_number(text[text.size() - 2])) {
    text.insert(text.size() - 1, 1, U' ');
  }
}

// Returns whether a period belongs to the word before it because of that word or of the next one, which may be empty.
bool keeps_period(MosesLanguage language, std::u32string_view word, std::u32string_view next) {
  if (word.find(U'.') != word.npos && std::ranges::any_of(word, is_letter)) return true;
  const Prefix prefix = find_prefix(language, word);
  if (prefix == Prefix::always) return true;
  if (next.empty()) return false;
  return is_in(kLowercase, next[0]) || (prefix == Prefix::before_number && next[0] >= '0' && next[0] <= '9');
}

// Returns the next word of a text that is separated by spaces, and removes it from the text.
std::u32string_view take_word(std::u32string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(U' '), text.size()));
  const std::u32string_view word = text.substr(0, text.find(U' '));
  text.remove_prefix(word.size());
  return word;
}

// Splits periods off the ends of words and leaves one space between tokens.
std::u32string separate_periods(MosesLanguage language, std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size() + 8);
  for (std::u32string_view word = take_word(text), next; !word.empty(); word = next) {
    next = take_word(text);
    if (!result.empty()) result += ' ';
    result += word;
    if (word.size() < 2 || word.back() != '.') continue;
    if (!keeps_period(language, word.substr(0, word.size() - 1), next)) result.insert(result.size() - 1, 1, U' ');
  }
  if (result.ends_with(U".'")) result.replace(result.size() - 2, 2, U" . ' ");
  return result;
}

// Moses writes a run of three periods as DOTDOTDOTMULTI while it works, and turns such words of the text into periods.
void replace_placeholders(std::u32string& text) {
  constexpr std::u32string_view kDot = U"DOT", kLast = U"DOTMULTI";
  std::u32string result;
  size_t end = 0;  // end of the last placeholder
  for (size_t at = text.find(kLast); at != text.npos; at = text.find(kLast, end)) {
    size_t begin = at;
    while (begin >= end + kDot.size() && text.compare(begin - kDot.size(), kDot.size(), kDot) == 0)
      begin -= kDot.size();
    result.append(text, end, begin - end).append((at - begin) / kDot.size() + 1, U'.');
    end = at + kLast.size();
  }
  if (end > 0) text = result.append(text, end);
}

std::string_view entity(char32_t c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '|':
      return "&#124;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '\'':
      return "&apos;";
    case '"':
      return "&quot;";
    case '[':
      return "&#91;";
    case ']':
      return "&#93;";
    default:
      return {};
  }
}

std::string encode(std::u32string_view text, bool escape) {
  std::string line;
  line.reserve(text.size() + 16);
  for (const char32_t c : text) {
    if (const std::string_view name = escape ? entity(c) : std::string_view(); !name.empty()) {
      line += name;
    } else {
      append_utf8(line, c == kPeriodInRun ? U'.' : c);
    }
  }
  return line;
}

}  // namespace

std::string MosesTokenizer::tokenize(std::string_view line) const {
  std::u32string text = separate_symbols(decode(line), options_.aggressive_hyphens);
  substitute(kCommas, text);
  separate_final_comma(text);
  substitute(apostrophes(language_), text);
  text = separate_periods(language_, text);
  replace_placeholders(text);
  return encode(text, options_.escape);
}

}  // namespace gyre
