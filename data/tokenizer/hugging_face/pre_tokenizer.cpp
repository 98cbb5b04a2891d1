#include "gyre/data/tokenizer/hugging_face/pre_tokenizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"
#include "gyre/data/tokenizer/hugging_face/text_pattern.h"

namespace gyre {
namespace {

using Form = const icu::Normalizer2* (*)(UErrorCode&);

std::string to_form(Form form, std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = form(status);
  std::string normalized;
  icu::StringByteSink<std::string> sink(&normalized, int32_t(text.size()));
  if (U_SUCCESS(status))
    normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), int32_t(text.size())), sink, nullptr, status);
  require(U_SUCCESS(status), "[vocabulary] ICU cannot normalize: ", u_errorName(status));
  return normalized;
}

std::string without(bool (*is_removed)(UChar32), std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for_each_character(text, [&](UChar32 c, size_t, size_t) {
    if (!is_removed(c)) append_character(kept, c);
  });
  return kept;
}

struct BertOptions {
  bool clean_text, chinese, strip_accents, lower_case;
};

std::string clean(std::string_view text) {
  std::string cleaned;
  cleaned.reserve(text.size());
  for_each_character(text, [&](UChar32 c, size_t, size_t) {
    if (c == 0 || c == 0xFFFD || is_bert_control(c)) return;
    append_character(cleaned, is_white_space(c) ? ' ' : c);
  });
  return cleaned;
}

std::string spaces_around_chinese(std::string_view text) {
  std::string spaced;
  spaced.reserve(text.size());
  for_each_character(text, [&](UChar32 c, size_t, size_t) {
    if (!is_chinese(c)) return append_character(spaced, c);
    spaced += ' ';
    append_character(spaced, c);
    spaced += ' ';
  });
  return spaced;
}

std::string bert_normalized(const BertOptions& options, std::string text) {
  if (options.clean_text) text = clean(text);
  if (options.chinese) text = spaces_around_chinese(text);
  if (options.strip_accents) text = without(is_nonspacing_mark, to_form(icu::Normalizer2::getNFDInstance, text));
  return options.lower_case ? lower_case(text) : text;
}

std::string stripped(bool left, bool right, std::string_view text) {
  if (left) text.remove_prefix(leading_space(text));
  if (right) text.remove_suffix(trailing_space(text));
  return std::string(text);
}

}  // namespace

Normalizer::Normalizer(const IndexedJson& json, const std::string& context) {
  if (!json.is_null())
    JsonPart(json, context, "normalizer").for_each("normalizers", [this](JsonPart& part) { read(part); });
}

void Normalizer::read(JsonPart& part) {
  const std::string type = part.type();
  const auto add_form = [this](Form form) {
    steps_.emplace_back([form](const std::string& text) { return to_form(form, text); });
  };
  if (type == "NFC") {
    add_form(icu::Normalizer2::getNFCInstance);
  } else if (type == "NFD") {
    add_form(icu::Normalizer2::getNFDInstance);
  } else if (type == "NFKC") {
    add_form(icu::Normalizer2::getNFKCInstance);
  } else if (type == "NFKD") {
    add_form(icu::Normalizer2::getNFKDInstance);
  } else if (type == "Lowercase") {
    steps_.emplace_back([](const std::string& text) { return lower_case(text); });
  } else if (type == "StripAccents") {
    steps_.emplace_back([](const std::string& text) { return without(is_mark, text); });
  } else if (type == "ByteLevel") {
    steps_.emplace_back([](const std::string& text) { return byte_notation(text); });
  } else if (type == "Prepend") {
    steps_.emplace_back(
        [prefix = part.text("prepend")](std::string text) { return text.empty() ? text : prefix + text; });
  } else if (type == "Strip") {
    const bool left = part.flag("strip_left", false), right = part.flag("strip_right", false);
    steps_.emplace_back([=](const std::string& text) { return stripped(left, right, text); });
  } else if (type == "Replace") {
    steps_.emplace_back([pattern = TextPattern::read(part, "pattern"), content = part.text("content")](
                            const std::string& text) { return pattern.replace(text, content); });
  } else if (type == "BertNormalizer") {
    BertOptions options{};
    options.clean_text = part.flag("clean_text", true);
    options.chinese = part.flag("handle_chinese_chars", true);
    options.lower_case = part.flag("lowercase", true);
    options.strip_accents = part.flag("strip_accents", options.lower_case);
    steps_.emplace_back([options](const std::string& text) { return bert_normalized(options, text); });
  } else {
    part.refuse("type",
                "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Prepend, Replace, Strip or StripAccents",
                type);
  }
  part.finish();
}

std::string Normalizer::operator()(std::string_view text) const {
  std::string normalized(text);
  for (const Step& step : steps_) normalized = step(std::move(normalized));
  return normalized;
}

const char* const kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

using Spans = std::vector<TextSpan>;

// The treatment of the matches of a pattern.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

Behavior read_behavior(JsonPart& part, const char* otherwise) {
  const std::string name = part.text("behavior", otherwise);
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  part.refuse("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", name);
}

// Joins a match to the span before it, unless that is a match too.
Spans merged_with_previous(const Spans& spans) {
  Spans merged;
  bool previous = false;
  for (const TextSpan& span : spans) {
    if (span.is_match && !previous && !merged.empty())
      merged.back().end = span.end;
    else
      merged.push_back(span);
    previous = span.is_match;
  }
  return merged;
}

Spans merged_with_next(const Spans& spans) {
  Spans merged;
  bool next = false;
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    if (span->is_match && !next && !merged.empty())
      merged.back().begin = span->begin;
    else
      merged.push_back(*span);
    next = span->is_match;
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

Spans joined_runs(const Spans& spans) {
  Spans joined;
  for (const TextSpan& span : spans) {
    if (!joined.empty() && joined.back().is_match == span.is_match)
      joined.back().end = span.end;
    else
      joined.push_back(span);
  }
  return joined;
}

Spans apply(Behavior behavior, Spans spans) {
  switch (behavior) {
    case Behavior::removed:
      std::erase_if(spans, [](const TextSpan& span) { return span.is_match; });
      return spans;
    case Behavior::merged_with_previous:
      return merged_with_previous(spans);
    case Behavior::merged_with_next:
      return merged_with_next(spans);
    case Behavior::contiguous:
      return joined_runs(spans);
    case Behavior::isolated:
      break;
  }
  return spans;
}

auto split_step(TextPattern pattern, Behavior behavior, bool invert = false) {
  return [=](std::string_view text, bool begins_text, const PreTokenizer::Visit& visit) {
    Spans spans = pattern.spans(text);
    if (invert)
      for (TextSpan& span : spans) span.is_match = !span.is_match;
    for (const TextSpan& span : apply(behavior, std::move(spans)))
      visit(text.substr(span.begin, span.end - span.begin), begins_text && span.begin == 0);
  };
}

auto prefix_step(const std::string& prefix) {
  return [=](std::string_view text, bool begins_text, const PreTokenizer::Visit& visit) {
    if (text.starts_with(prefix)) return visit(text, begins_text);
    visit(prefix + std::string(text), begins_text);
  };
}

std::string replaced(std::string_view text, char c, std::string_view by) {
  std::string result;
  for (const char each : text) each == c ? void(result += by) : result.push_back(each);
  return result;
}

}  // namespace

PreTokenizer::PreTokenizer(const IndexedJson& json, const std::string& context) {
  if (json.is_null()) return;
  std::vector<JsonPart> parts;
  JsonPart(json, context, "pre_tokenizer").for_each("pretokenizers", [&](JsonPart& part) { parts.push_back(part); });
  for (size_t i = 0; i < parts.size(); ++i) read(parts[i], i + 1 == parts.size());
}

void PreTokenizer::read(JsonPart& part, bool is_last) {
  const std::string type = part.type();
  const auto split_at = [&](TextPattern pattern, Behavior behavior, bool invert = false) {
    steps_.emplace_back(split_step(std::move(pattern), behavior, invert));
    if (behavior == Behavior::removed) keeps_bytes_ = false;
  };
  if (type == "ByteLevel") {
    read_byte_level(part, is_last);
  } else if (type == "Metaspace") {
    read_metaspace(part);
  } else if (type == "Split") {
    TextPattern pattern = TextPattern::read(part, "pattern");
    const Behavior behavior = read_behavior(part, "");
    split_at(std::move(pattern), behavior, part.flag("invert", false));
  } else if (type == "Digits") {
    split_at(TextPattern::characters(is_numeric),
             part.flag("individual_digits", false) ? Behavior::isolated : Behavior::contiguous);
  } else if (type == "Punctuation") {
    split_at(TextPattern::characters(is_punctuation), read_behavior(part, "Isolated"));
  } else if (type == "WhitespaceSplit") {
    split_at(TextPattern::characters(is_white_space), Behavior::removed);
  } else if (type == "Whitespace") {  // runs of \w, and runs of other characters
    split_at(TextPattern::characters(is_white_space), Behavior::removed);
    split_at(TextPattern::characters(is_word_character), Behavior::contiguous);
  } else if (type == "BertPreTokenizer") {
    split_at(TextPattern::characters(is_white_space), Behavior::removed);
    split_at(TextPattern::characters(is_punctuation), Behavior::isolated);
  } else if (type == "CharDelimiterSplit") {
    const std::string delimiter = part.text("delimiter");
    part.expect(count_characters(delimiter) == 1, "delimiter", "one character", delimiter);
    split_at(TextPattern::literal(delimiter), Behavior::removed);
  } else {
    part.refuse("type",
                "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Split, Whitespace or "
                "WhitespaceSplit",
                type);
  }
  part.finish();
}

void PreTokenizer::read_byte_level(JsonPart& part, bool is_last) {
  if (part.flag("add_prefix_space", true)) {
    steps_.emplace_back(prefix_step(" "));
    keeps_bytes_ = false;
  }
  if (part.flag("use_regex", true))
    steps_.emplace_back(split_step(TextPattern::regex(kGpt2Words, part.context() + part.name()), Behavior::isolated));
  part.ignore({"trim_offsets"});
  ends_with_bytes_ = is_last;
  if (!is_last)
    steps_.emplace_back(
        [](std::string_view text, bool begins_text, const Visit& visit) { visit(byte_notation(text), begins_text); });
}

void PreTokenizer::read_metaspace(JsonPart& part) {
  const std::string replacement = part.text("replacement");
  part.expect(count_characters(replacement) == 1, "replacement", "one character", replacement);
  const bool has_scheme = part.has("prepend_scheme");
  const std::string scheme = part.text("prepend_scheme", part.flag("add_prefix_space", true) ? "always" : "never");
  part.expect(scheme == "always" || scheme == "first" || scheme == "never", "prepend_scheme", "always, first or never",
              scheme);
  part.expect(
      !has_scheme || part.get("add_prefix_space").is_null() || part.get("add_prefix_space") == (scheme != "never"),
      "add_prefix_space", "what prepend_scheme says", part.get("add_prefix_space"));
  part.expect(part.text("str_rep", replacement) == replacement, "str_rep", "the replacement", part.get("str_rep"));
  const bool splits = part.flag("split", true);
  keeps_bytes_ = false;
  steps_.emplace_back([=](std::string_view text, bool begins_text, const Visit& visit) {
    std::string marked = replaced(text, ' ', replacement);
    const bool prepends = scheme == "always" || (scheme == "first" && begins_text);
    if (prepends && !marked.starts_with(replacement)) marked.insert(0, replacement);
    if (!splits) return visit(marked, begins_text);
    size_t begin = 0;
    while (begin < marked.size()) {
      size_t end = marked.find(replacement, begin + 1);
      end = std::min(end, marked.size());
      visit(std::string_view(marked).substr(begin, end - begin), begins_text && begin == 0);
      begin = end;
    }
  });
}

void PreTokenizer::split(std::string_view text, bool begins_text, const Visit& visit) const {
  split_from(0, text, begins_text, visit);
}

void PreTokenizer::split_from(size_t step, std::string_view text, bool begins_text, const Visit& visit) const {
  if (text.empty()) return;
  if (step == steps_.size()) return visit(text, begins_text);
  steps_[step](text, begins_text,
               [&](std::string_view word, bool begins) { split_from(step + 1, word, begins, visit); });
}

}  // namespace gyre
