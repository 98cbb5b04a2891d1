#include <algorithm>
#include <map>
#include <utility>

#include "gyre/data/text/moses/characters.h"
#include "gyre/data/text/moses/moses_tokenizer.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

using namespace moses;

// The last three names come from old versions of Moses.
constexpr std::pair<std::u32string_view, char32_t> kEntities[] = {
    {U"&amp;", U'&'}, {U"&#124;", U'|'}, {U"&lt;", U'<'},  {U"&gt;", U'>'},  {U"&apos;", U'\''}, {U"&quot;", U'"'},
    {U"&#91;", U'['}, {U"&#93;", U']'},  {U"&bar;", U'|'}, {U"&bra;", U'['}, {U"&ket;", U']'}};

bool starts_at(std::u32string_view text, size_t at, std::u32string_view part) {
  return text.compare(at, part.size(), part) == 0;
}

// Decodes a line, joins the parts of words around "@-@", replaces entities, and splits the result into tokens.
std::vector<std::u32string> read_tokens(std::string_view line) {
  constexpr std::u32string_view kHyphen = U" @-@ ";
  std::u32string joined = U" ";
  for (const std::u32string& token : split_words(code_points(line))) (joined += token) += ' ';
  std::u32string text;
  for (size_t i = 0; i < joined.size();) {
    const auto* entity = joined[i] != '&' ? std::end(kEntities) : std::ranges::find_if(kEntities, [&](const auto& e) {
      return starts_at(joined, i, e.first);
    });
    if (entity != std::end(kEntities)) {
      text += entity->second;
      i += entity->first.size();
    } else if (joined[i] == ' ' && starts_at(joined, i, kHyphen)) {
      text += '-';
      i += kHyphen.size();
    } else {
      text += joined[i++];
    }
  }
  return split_words(text);
}

// The ranges of sacremoses.util.is_cjk.
bool is_cjk(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x1100, 0x11FF}, {0x2E80, 0xA4CF},   {0xA840, 0xA87F},   {0xAC00, 0xD7AF},   {0xF900, 0xFAFF},  {0xFE30, 0xFE4F},
      {0xFF65, 0xFFDC}, {0x17000, 0x18AFF}, {0x1B000, 0x1B12F}, {0x1B170, 0x1B2FF}, {0x20000, 0x2FFFF}};
  return std::ranges::any_of(kRanges, [c](const auto& range) { return c >= range.first && c <= range.second; });
}

bool consists_of(std::u32string_view token, std::u32string_view characters) {
  return token.find_first_not_of(characters) == token.npos;
}

bool is_opening(std::u32string_view token) {
  return std::ranges::all_of(token, [](char32_t c) {
    return is_in(kCurrency, c) || c == '(' || c == '[' || c == '{' || c == U'\u00BF' || c == U'\u00A1';
  });
}

bool is_closing(std::u32string_view token) { return consists_of(token, U",.?!:;\\%}])"); }

// "'s" in "it 's".
bool is_contraction(std::u32string_view token) {
  return token.size() >= 2 && token[0] == '\'' && is_in(kLetter, token[1]);
}

// "l'" in "l' homme".
bool is_elision(std::u32string_view token) {
  return token.size() >= 2 && token.back() == '\'' && is_in(kLetter, token[token.size() - 2]);
}

bool is_quote(std::u32string_view token) { return consists_of(token, U"'\"`\u201E\u201C"); }

// Spaces around the tokens of one line.
class TokenJoiner {
 public:
  explicit TokenJoiner(MosesLanguage language)
      : language_(language), has_elisions_(language == MosesLanguage::french || language == MosesLanguage::italian) {}

  // `next` is the token after this one, empty at the end of the line.
  void add(const std::u32string& token, std::u32string_view next) {
    if (is_cjk(token[0])) {
      append(token, !previous_.empty() && is_cjk(previous_.back()) ? kLeft : kNone);
    } else if (is_opening(token)) {
      append(token, kRight);
    } else if (is_closing(token)) {
      if (is_spaced(token)) text_ += ' ';
      append(token, kLeft);
    } else if (is(MosesLanguage::english) && !previous_.empty() && is_contraction(token)) {
      append(token, kLeft);
    } else if (has_elisions_ && is_elision(token) && !next.empty() && is_in(kLetter, next[0])) {
      append(token, kRight);
    } else if (is_quote(token)) {
      append(token, quote_side(token));
    } else {
      append(token, kNone);
    }
    previous_ = token;
  }

  const std::u32string& text() const { return text_; }

 private:
  enum Side { kNone, kLeft, kRight };  // the side without a space

  bool is(MosesLanguage language) const { return language_ == language; }

  void append(const std::u32string& token, Side side) {
    if (side != kLeft && needs_space_) text_ += ' ';
    text_ += token;
    needs_space_ = side != kRight;
  }

  // French has a space before percent signs and punctuation of two parts: "Quoi ?"
  bool is_spaced(std::u32string_view token) const {
    return is(MosesLanguage::french) && !text_.empty() && token.size() == 1 && consists_of(token, U"?!:;\\%");
  }

  // Quotes of a kind open and close in turn. An English apostrophe after an s is a possessive: "the Jones' house".
  Side quote_side(const std::u32string& token) {
    const bool is_double = consists_of(token, U"\u201E\u201C");
    bool& is_open = open_quotes_[is_double ? U"\"" : token];
    if (is(MosesLanguage::czech) && is_double && token.size() == 1) is_open = token[0] == U'\u201C';
    if (!is_open && is(MosesLanguage::english) && token == U"'" && previous_.ends_with(U's')) return kLeft;
    is_open = !is_open;
    return is_open ? kRight : kLeft;
  }

  MosesLanguage language_;
  bool has_elisions_, needs_space_ = false;
  std::u32string text_, previous_;
  std::map<std::u32string, bool> open_quotes_;
};

}  // namespace

std::string MosesDetokenizer::detokenize(std::string_view line) const {
  TokenJoiner joiner(language_);
  const std::vector<std::u32string> tokens = read_tokens(line);
  for (size_t i = 0; i < tokens.size(); ++i) {
    joiner.add(tokens[i], i + 1 < tokens.size() ? std::u32string_view(tokens[i + 1]) : std::u32string_view());
  }
  return to_utf8(joiner.text());
}

}  // namespace gyre
