#include "gyre/data/tokenizer/hugging_face/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/hugging_face/byte_notation.h"
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

Normalizer::Normalizer(const nlohmann::json& json, const std::string& context) {
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

}  // namespace gyre
