#include "gyre/data/tokenizer/byte_bpe/pre_tokenizer.h"

#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"

namespace gyre {

const char* const kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

std::u16string to_utf16(std::string_view text) {
  std::u16string units;
  units.reserve(text.size());
  const auto size = int32_t(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    if (c > 0xFFFF) units += U16_LEAD(c);
    units += c > 0xFFFF ? U16_TRAIL(c) : char16_t(c);
  }
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

}  // namespace

PreTokenizer::PreTokenizer(const std::string& context, const PreTokenizerOptions& options)
    : prefix_step_(options.add_prefix_space ? options.patterns.size() : SIZE_MAX) {
  std::vector<std::string> patterns = options.patterns;
  if (options.gpt2_words) patterns.emplace_back(kGpt2Words);
  for (const std::string& pattern : patterns) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError place{};
    patterns_.emplace_back(icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(pattern), 0, place, status));
    require(U_SUCCESS(status), context, "expected a regular expression that ICU can read, got ",
            quoted_for_message(pattern), " (", u_errorName(status), " after ", place.offset, " characters)");
  }
}

PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::split(std::string_view text, const Visit& visit) const {
  require(text.size() < size_t(std::numeric_limits<int32_t>::max()), "[vocabulary] expected a text below 2 GiB, got ",
          text.size(), " bytes");
  Matchers matchers;
  for (const auto& pattern : patterns_) {
    UErrorCode status = U_ZERO_ERROR;
    matchers.emplace_back(pattern->matcher(status));
    require(U_SUCCESS(status), "[vocabulary] no memory for a regular expression");
  }
  split_from(0, text, matchers, visit);
}

void PreTokenizer::split_from(size_t step, std::string_view text, Matchers& matchers, const Visit& visit) const {
  if (text.empty()) return;
  if (step == prefix_step_ && text.front() != ' ') {
    std::string prefixed(1, ' ');
    prefixed += text;
    if (step == patterns_.size()) return visit(prefixed);
    return split_at_matches(step, prefixed, matchers, visit);
  }
  if (step == patterns_.size()) return visit(text);
  split_at_matches(step, text, matchers, visit);
}

void PreTokenizer::split_at_matches(size_t step, std::string_view text, Matchers& matchers, const Visit& visit) const {
  const std::u16string units = to_utf16(text);
  const icu::UnicodeString input(false, units.data(), int32_t(units.size()));
  icu::RegexMatcher& matcher = *matchers[step];
  matcher.reset(input);
  UErrorCode status = U_ZERO_ERROR;
  matcher.setTimeLimit(step_limit(units.size()), status);
  Utf8Position position(text);
  size_t end = 0;  // of the words so far
  const auto visit_up_to = [&](int32_t unit) {
    const size_t next = position.of(unit);
    if (next > end) split_from(step + 1, text.substr(end, next - end), matchers, visit);
    end = next;
  };
  while (matcher.find(status)) {
    visit_up_to(matcher.start(status));
    visit_up_to(matcher.end(status));
  }
  require(U_SUCCESS(status), "[vocabulary] the regular expression of the pre-tokenizer failed on a text of ",
          text.size(), " bytes (", u_errorName(status), ")");
  visit_up_to(int32_t(units.size()));
}

}  // namespace gyre
