#include "gyre/data/tokenizer/hugging_face/text_pattern.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"

namespace gyre {

namespace {

std::u16string to_utf16(std::string_view text) {
  std::u16string units;
  units.reserve(text.size());
  for_each_character(text, [&](UChar32 c, size_t, size_t) {
    if (c > 0xFFFF) units += U16_LEAD(c);
    units += c > 0xFFFF ? U16_TRAIL(c) : char16_t(c);
  });
  return units;
}

// Converts ascending positions in to_utf16(text) to positions in the text.
class Utf8Position {
 public:
  explicit Utf8Position(std::string_view text) : text_(text) {}
  size_t of(int32_t unit) {
    while (unit_ < unit) {
      UChar32 c = 0;
      U8_NEXT_OR_FFFD(text_.data(), at_, int32_t(text_.size()), c);
      unit_ += U16_LENGTH(c);
    }
    return size_t(at_);
  }

 private:
  std::string_view text_;
  int32_t at_ = 0, unit_ = 0;
};

// In ICU's unit, 10,000 steps. The patterns of published tokenizers need a few steps per character.
int32_t step_limit(size_t characters) { return int32_t(1000 + characters / 100); }

// ICU's default of 8 MB ends at runs of some 300,000 spaces. A pattern saves a few numbers per character of a run.
constexpr int64_t kStackBytesPerCharacter = 128, kLeastStackBytes = 8'000'000;

int32_t stack_limit(size_t characters) {
  const int64_t bytes = std::max(kLeastStackBytes, kStackBytesPerCharacter * int64_t(characters));
  return int32_t(std::min<int64_t>(bytes, std::numeric_limits<int32_t>::max()));
}

// Oniguruma's \w, which is ICU's without joiners. Outside brackets it also has the digits and fractions of Latin-1.
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})",
                           kLatinDigits = R"(\u00B2\u00B3\u00B9\u00BC-\u00BE)";

// Writes an expression of Oniguruma's Ruby syntax for ICU, and refuses all that is not known to mean the same.
class PatternTranslation {
 public:
  PatternTranslation(const std::string& expression, const std::string& name) : text_(expression), name_(name) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(icu_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(name_, ": expected a regular expression without ", what,
                ", which ICU may read differently than Oniguruma, got ", quoted_for_message(text_));
  }
  bool next_is(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }
  void copy(size_t count) {
    icu_.append(text_, at_, count);
    at_ += count;
  }

  void step() {
    if (ignores_case_.back()) require_plain_case();
    const char c = text_[at_];
    if (c == '\\') return escape();
    if (depth_ > 0) return in_class();
    if (c == '[') return begin_class();
    if (c == '(') return group();
    if (c == ')' && ignores_case_.size() > 1) ignores_case_.pop_back();
    if (c == '{') return interval();
    copy(1);
  }

  // Cases are compared by folding, which Oniguruma and ICU do alike for single letters of ASCII. Several letters that
  // a ligature or a sharp s stands for, and classes, are compared differently.
  void require_plain_case() const {
    constexpr std::string_view kSyntax = "()|?*+{},:!=<>'\" ";
    if (U8_IS_TRAIL(text_[at_])) return;
    const std::string_view rest = std::string_view(text_).substr(at_);
    UChar32 c = 0;
    int32_t size = 0;
    U8_NEXT_OR_FFFD(rest.data(), size, int32_t(rest.size()), c);
    const bool is_plain = c < 128 ? u_isalnum(c) || kSyntax.find(char(c)) != kSyntax.npos : u_ispunct(c);
    if (!is_plain) refuse("\"" + std::string(rest.substr(0, size_t(size))) + "\" where (?i) holds");
    for (const std::string_view pair : {"ss", "st", "ff", "fi", "fl"})
      if (rest.size() > 1 && (rest[0] | 32) == pair[0] && (rest[1] | 32) == pair[1])
        refuse(std::string(rest.substr(0, 2)) + " where (?i) holds");
  }

  void begin_class() {
    ++depth_;
    copy(1);
    if (next_is("^")) copy(1);
    if (next_is("]")) refuse("an empty class");
  }

  void in_class() {
    if (next_is("[:")) refuse("classes such as [:alpha:]");
    if (next_is("--")) refuse("-- in a class");
    if (text_[at_] == '[') return begin_class();
    if (text_[at_] == ']') --depth_;
    if (next_is("&&")) return copy(2);
    copy(1);
  }

  void group() {
    bool ignores = ignores_case_.back();
    if (!next_is("(?")) {
      ignores_case_.push_back(ignores);
      return copy(1);
    }
    for (const std::string_view kind : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"}) {
      if (!next_is(kind)) continue;
      if (kind == "(?i:" || kind == "(?-i:") ignores = kind == "(?i:";
      ignores_case_.push_back(ignores);
      return copy(kind.size());
    }
    // Elsewhere, Oniguruma takes the alternatives after it along.
    if (!next_is("(?i)") || at_ > 0) refuse(text_.substr(at_, text_.find_first_of(":)", at_) - at_ + 1));
    ignores_case_.back() = true;
    copy(4);
  }

  // Reads a quantifier such as {2,3}. Oniguruma reads {,3}, {2}? and {2,3}+ in ways of its own.
  void interval() {
    const size_t end = text_.find('}', at_);
    const std::string inside = end == text_.npos ? "" : text_.substr(at_ + 1, end - at_ - 1);
    const bool is_number =
        !inside.empty() && inside.find_first_not_of("0123456789,") == inside.npos && inside[0] != ',';
    if (!is_number) refuse("{ other than in quantifiers such as {2} or {2,3}");
    copy(inside.size() + 2);
    if (next_is("+") || (next_is("?") && inside.find(',') == inside.npos)) refuse("{" + inside + "}" + text_[at_]);
  }

  void escape() {
    if (at_ + 1 == text_.size()) return copy(1);  // ICU refuses it
    const char c = text_[at_ + 1];
    const std::string shown = text_.substr(at_, 2);
    if (!std::isalnum(uint8_t(c))) return copy(2);
    constexpr std::string_view kSame = "sSdDrntfaeA";
    if (c == 'p' || c == 'P') return property();
    if (c == 'w' || c == 'W') {
      icu_.append(c == 'w' ? "[" : "[^").append(kWord).append(depth_ == 0 ? kLatinDigits : "").append("]");
      at_ += 2;
      return;
    }
    // Other bytes than ASCII are parts of characters for Oniguruma, and characters for ICU.
    const bool is_ascii = c == 'x' && at_ + 3 < text_.size() && text_[at_ + 2] >= '0' && text_[at_ + 2] <= '7' &&
                          std::isxdigit(uint8_t(text_[at_ + 3]));
    if (is_ascii) return copy(4);
    if (c != 'u' && !(c == 'x' && text_.compare(at_ + 2, 1, "{") == 0) && kSame.find(c) == kSame.npos) refuse(shown);
    copy(2);
    if (c == 'x') copy(text_.find('}', at_) - at_);
  }

  // Names such as Alpha and Punct are those of POSIX in Oniguruma, with other characters than in ICU.
  void property() {
    constexpr std::string_view kNames[] = {
        "C",     "Cc",       "Cf",    "Cn",     "Co",     "L",    "Ll",         "Lm",      "Lo",       "Lt",
        "Lu",    "M",        "Mc",    "Me",     "Mn",     "N",    "Nd",         "Nl",      "No",       "P",
        "Pc",    "Pd",       "Pe",    "Pf",     "Pi",     "Po",   "Ps",         "S",       "Sc",       "Sk",
        "Sm",    "So",       "Z",     "Zl",     "Zp",     "Zs",   "Han",        "Hangul",  "Hiragana", "Katakana",
        "Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Thai", "Devanagari", "Bengali", "Armenian", "Georgian"};
    const size_t end = text_.find('}', at_);
    const std::string name =
        next_is(text_.substr(at_, 2) + "{") && end != text_.npos ? text_.substr(at_ + 3, end - at_ - 3) : "";
    if (std::ranges::find(kNames, name) == std::end(kNames))
      refuse(text_.substr(at_, end == text_.npos ? 3 : end - at_ + 1));
    copy(name.size() + 4);
  }

  const std::string& text_;
  const std::string& name_;
  std::string icu_{};
  size_t at_ = 0;
  int depth_ = 0;                          // number of brackets around the place
  std::vector<bool> ignores_case_{false};  // flag of each group around the place
};

// A matcher of a thread. To make one takes longer than to match a word, and a pre-tokenizer of several steps matches
// every word of a text by itself.
struct CachedMatcher {
  std::shared_ptr<const icu::RegexPattern> pattern{};
  std::unique_ptr<icu::RegexMatcher> matcher{};
};

icu::RegexMatcher& matcher_of_thread(const std::shared_ptr<const icu::RegexPattern>& pattern) {
  thread_local std::array<CachedMatcher, 8> cache;  // more than the patterns of a tokenizer
  thread_local size_t oldest = 0;
  for (const CachedMatcher& cached : cache)
    if (cached.pattern == pattern) return *cached.matcher;
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::RegexMatcher> matcher(pattern->matcher(status));
  require(U_SUCCESS(status), "[vocabulary] no memory for a regular expression");
  CachedMatcher& place = cache.at(std::exchange(oldest, (oldest + 1) % cache.size()));
  place = {};  // a matcher refers to its pattern
  place = {pattern, std::move(matcher)};
  return *place.matcher;
}

// A long text may leave a matcher with a large stack.
constexpr size_t kLongestCached = 1 << 16;  // bytes

}  // namespace

TextPattern TextPattern::read(JsonPart& part, const std::string& key) {
  const auto& json = part.get(key);
  part.expect(json.is_object() && json.size() == 1 && (json.contains("Regex") || json.contains("String")), key,
              "a Regex or a String", json);
  JsonPart pattern = part.part(key);
  if (json.contains("Regex")) return regex(pattern.text("Regex"), concat(part.context(), part.name_of(key)));
  const std::string text = pattern.text("String");
  pattern.expect(!text.empty(), "String", "a text that is not empty", text);
  return literal(text);
}

TextPattern TextPattern::literal(const std::string& text) {
  TextPattern pattern;
  pattern.literal_ = text;
  return pattern;
}

TextPattern TextPattern::regex(const std::string& expression, const std::string& name) {
  const std::string translated = PatternTranslation(expression, name).run();
  UErrorCode status = U_ZERO_ERROR;
  UParseError place{};
  TextPattern pattern;
  // As in Oniguruma, only a line feed ends a line, and "^" and "$" match at each line.
  constexpr uint32_t kFlags = UREGEX_UNIX_LINES | UREGEX_MULTILINE;
  pattern.regex_.reset(icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(translated), kFlags, place, status));
  require(U_SUCCESS(status), name, ": expected a regular expression that ICU can read, got ",
          quoted_for_message(expression), " (", u_errorName(status), " after ", place.offset, " characters)");
  return pattern;
}

TextPattern TextPattern::characters(bool (*is_match)(UChar32)) {
  TextPattern pattern;
  pattern.is_match_ = is_match;
  return pattern;
}

std::vector<TextSpan> TextPattern::spans(std::string_view text) const {
  require(text.size() < size_t(std::numeric_limits<int32_t>::max()), "[vocabulary] expected a text below 2 GiB, got ",
          text.size(), " bytes");
  std::vector<TextSpan> spans;
  size_t end = 0;
  const auto add = [&](size_t match_begin, size_t match_end) {
    if (match_begin > end) spans.push_back({end, match_begin, false});
    if (match_end > match_begin) spans.push_back({match_begin, match_end, true});
    end = match_end;
  };
  if (is_match_ != nullptr) {
    for_each_character(text, [&](UChar32 c, size_t begin, size_t after) {
      if (is_match_(c)) add(begin, after);
    });
  } else if (!regex_) {
    for (size_t at = text.find(literal_); at != text.npos; at = text.find(literal_, at + literal_.size()))
      add(at, at + literal_.size());
  } else {
    UErrorCode status = U_ZERO_ERROR;
    const bool is_long = text.size() > kLongestCached;
    const std::unique_ptr<icu::RegexMatcher> own(is_long ? regex_->matcher(status) : nullptr);
    require(U_SUCCESS(status), "[vocabulary] no memory for a regular expression");
    icu::RegexMatcher& matcher = is_long ? *own : matcher_of_thread(regex_);
    const std::u16string units = to_utf16(text);
    const icu::UnicodeString input(false, units.data(), int32_t(units.size()));
    matcher.reset(input);
    matcher.setTimeLimit(step_limit(units.size()), status);
    matcher.setStackLimit(stack_limit(units.size()), status);
    Utf8Position position(text);
    while (matcher.find(status)) {
      const size_t begin = position.of(matcher.start(status));
      add(begin, position.of(matcher.end(status)));
    }
    require(U_SUCCESS(status), "[vocabulary] a regular expression of the tokenizer failed on a text of ", text.size(),
            " bytes (", u_errorName(status), ")");
  }
  if (end < text.size()) spans.push_back({end, text.size(), false});
  return spans;
}

std::string TextPattern::replace(std::string_view text, std::string_view by) const {
  std::string result;
  for (const TextSpan& span : spans(text))
    result += span.is_match ? by : text.substr(span.begin, span.end - span.begin);
  return result;
}

}  // namespace gyre
