#include "gyre/data/text/moses/punctuation.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "gyre/data/text/moses/characters.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

using moses::substitute, moses::Substitution;

bool is_digit(char32_t c) { return u_isdigit(UChar32(c)); }
bool is_ascii_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The substitutions follow in the order of the script.

constexpr Substitution kParentheses[] = {{U"\r", U""}, {U"(", U" ("}, {U")", U") "}};

constexpr Substitution kSpacesBefore[] = {{U") .", U")."},         {U") !", U")!"}, {U") :", U"):"}, {U") ?", U")?"},
                                          {U") ;", U");"},         {U") ,", U"),"}, {U"( ", U"("},   {U" )", U")"},
                                          {U" %", U"%", is_digit}, {U" :", U":"},   {U" ;", U";"}};

constexpr Substitution kQuotesAndDashes[] = {{U"`", U"'"},  {U"''", U" \" "}, {U"„", U"\""}, {U"“", U"\""},
                                             {U"”", U"\""}, {U"–", U"-"},     {U"—", U" - "}};

constexpr Substitution kApostrophes[] = {{U"´", U"'"},
                                         {U"‘", U"'", is_ascii_letter, is_ascii_letter},
                                         {U"’", U"'", is_ascii_letter, is_ascii_letter},
                                         {U"‘", U"'"},
                                         {U"‚", U"'"}};

constexpr Substitution kRightQuote[] = {{U"’", U"'"}};
constexpr Substitution kPerlRightQuote[] = {{U"’", U"\""}};

constexpr Substitution kTwoQuotesAndDots[] = {{U"''", U"\""}, {U"…", U"..."}};

// U+00A0 is the no-break space.
constexpr Substitution kFrenchQuotes[] = {{U"\u00A0«\u00A0", U"\""}, {U"«\u00A0", U"\""}, {U"«", U"\""},
                                          {U"\u00A0»\u00A0", U"\""}, {U"\u00A0»", U"\""}, {U"»", U"\""}};
constexpr Substitution kPerlFrenchQuotes[] = {{U"\u00A0«\u00A0", U" \""}, {U"«\u00A0", U"\""}, {U"«", U"\""},
                                              {U"\u00A0»\u00A0", U"\" "}, {U"\u00A0»", U"\""}, {U"»", U"\""}};

constexpr Substitution kNoBreakSpaces[] = {{U"\u00A0%", U"%"},    {U"nº\u00A0", U"nº "}, {U"\u00A0:", U":"},
                                           {U"\u00A0ºC", U" ºC"}, {U"\u00A0cm", U" cm"}, {U"\u00A0?", U"?"},
                                           {U"\u00A0!", U"!"},    {U"\u00A0;", U";"},    {U",\u00A0", U", "}};

constexpr Substitution kNumbersWithPeriods[] = {{U"\u00A0", U".", is_digit, is_digit}};
constexpr Substitution kNumbersWithCommas[] = {{U"\u00A0", U",", is_digit, is_digit}};
constexpr Substitution kQuotesBeforeCommas[] = {{U",\"", U"\","}};

void merge_spaces(std::u32string& text) {
  const auto both_spaces = [](char32_t a, char32_t b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both_spaces), text.end());
}

// Like s/"([,.]+)/$1"/g: "no". becomes "no."
void put_quotes_after_commas(std::u32string& text) {
  for (size_t at = text.find(U'"'); at != text.npos; at = text.find(U'"', at + 1)) {
    for (; at + 1 < text.size() && (text[at + 1] == ',' || text[at + 1] == '.'); ++at)
      std::swap(text[at], text[at + 1]);
  }
}

// Like s/(\.+)"(\s*[^<])/"$1$2/g: "Nein." becomes "Nein"., but not at the end of the line and before a tag.
void put_quotes_before_periods(std::u32string& text) {
  size_t end = 0;  // end of the last match
  for (size_t at = text.find(U".\""); at != text.npos; at = text.find(U".\"", std::max(at + 1, end))) {
    const size_t after_quote = at + 2;
    size_t next = after_quote;
    while (next < text.size() && is_space(text[next])) ++next;
    if (next < text.size() && text[next] != '<') ++next;
    if (next == after_quote) continue;
    const size_t last_other = text.find_last_not_of(U'.', at);
    const size_t begin = std::max(end, last_other == text.npos ? 0 : last_other + 1);
    std::swap(text[begin], text[at + 1]);
    end = next;
  }
}

std::u32string_view strip_spaces(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return strip_right(text);
}

}  // namespace

std::string PunctuationNormalizer::normalize(std::string_view line) const {
  const bool is_perl = options_.perl_quotes;
  std::u32string text = code_points(line);
  substitute(kParentheses, text);
  merge_spaces(text);
  substitute(kSpacesBefore, text);
  substitute(kQuotesAndDashes, text);
  merge_spaces(text);
  substitute(kApostrophes, text);
  substitute(is_perl ? kPerlRightQuote : kRightQuote, text);
  substitute(kTwoQuotesAndDots, text);
  substitute(is_perl ? kPerlFrenchQuotes : kFrenchQuotes, text);
  substitute(kNoBreakSpaces, text);
  merge_spaces(text);
  switch (language_) {
    case MosesLanguage::english:
      put_quotes_after_commas(text);
      break;
    case MosesLanguage::german:
    case MosesLanguage::french:
    case MosesLanguage::spanish:
      substitute(kQuotesBeforeCommas, text);
      put_quotes_before_periods(text);
      break;
    case MosesLanguage::italian:
    case MosesLanguage::czech:
    case MosesLanguage::russian:
      break;
  }
  const bool has_periods =
      language_ == MosesLanguage::english || language_ == MosesLanguage::italian || language_ == MosesLanguage::russian;
  substitute(has_periods ? kNumbersWithPeriods : kNumbersWithCommas, text);
  return to_utf8(strip_spaces(text));
}

std::string remove_non_printing(std::string_view line) {
  std::u32string text = code_points(line);
  for (char32_t& c : text) {
    if ((U_GET_GC_MASK(UChar32(c)) & U_GC_C_MASK) != 0) c = ' ';
  }
  return to_utf8(text);
}

}  // namespace gyre
