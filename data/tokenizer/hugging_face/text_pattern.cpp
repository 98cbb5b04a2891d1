#include "gyre/data/tokenizer/hugging_face/text_pattern.h"

#include <array>
#include <limits>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
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

// Rewrites what Oniguruma and ICU read differently, and refuses what has no counterpart.
std::string to_icu(const std::string& expression, const std::string& name) {
  const auto refuse = [&](std::string_view what) {
    throw Error(name, ": expected a regular expression without ", what, ", which ICU reads differently, got ",
                quoted_for_message(expression));
  };
  constexpr std::string_view kRefused = "bBhHvRXKGyYzZOg";
  std::string icu;
  int depth = 0;  // of brackets
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (depth > 0 && expression.compare(i, 2, "[:") == 0) refuse("classes such as [:alpha:]");
    if (c == '[') ++depth;
    if (c == ']' && depth > 0) --depth;
    if (depth == 0 && expression.compare(i, 2, "(?") == 0) {
      const size_t end = expression.find_first_not_of("imsxauWDSPyLbw-", i + 2);
      const std::string_view flags = std::string_view(expression).substr(i + 2, end - std::min(end, i + 2));
      const bool sets_flags =
          !flags.empty() && end < expression.size() && (expression[end] == ':' || expression[end] == ')');
      if (sets_flags && flags.find_first_not_of("i-") != flags.npos) refuse("the flags " + std::string(flags));
    }
    if (c != '\\' || i + 1 == expression.size()) {
      icu += c;
      continue;
    }
    const char escaped = expression[++i];
    if (kRefused.find(escaped) != kRefused.npos) refuse(std::string("\\") + escaped);
    if (escaped == 'w' || escaped == 'W')
      icu.append(escaped == 'w' ? "[" : "[^").append(kWord).append(depth == 0 ? kLatinDigits : "").append("]");
    else
      icu.append({c, escaped});
  }
  return icu;
}

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
  const std::string translated = to_icu(expression, name);
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
