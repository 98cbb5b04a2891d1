#include "gyre/data/tokenizer/hugging_face/decoder.h"

#include <charconv>
#include <optional>

#include "gyre/core/sizes.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/byte_notation.h"
#include "gyre/data/tokenizer/hugging_face/text_pattern.h"

namespace gyre {

namespace {

using Pieces = std::vector<std::string>;

std::string joined(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// The byte of a piece like "<0x0A>".
std::optional<char> byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return std::nullopt;
  uint8_t byte = 0;
  const char* end = piece.data() + 5;
  const auto [stop, error] = std::from_chars(piece.data() + 3, end, byte, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return char(byte);
}

// Joins runs of bytes to characters. A run that is not UTF-8 becomes a replacement character per byte.
void join_bytes(Pieces& pieces) {
  Pieces result;
  std::string run;
  const auto end_run = [&] {
    if (run.empty()) return;
    if (!first_invalid_utf8(run)) {
      result.push_back(run);
    } else {
      for (size_t i = 0; i < run.size(); ++i) result.emplace_back("\uFFFD");
    }
    run.clear();
  };
  for (std::string& piece : pieces) {
    if (const auto byte = byte_of(piece)) {
      run += *byte;
      continue;
    }
    end_run();
    result.push_back(std::move(piece));
  }
  end_run();
  pieces = std::move(result);
}

// The clean-up of transformers for English.
std::string clean_up(std::string text) {
  constexpr const char* kSteps[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                       {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                       {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kSteps) text = TextPattern::literal(from).replace(text, to);
  return text;
}

void join_wordpieces(const std::string& prefix, bool cleans_up, Pieces& pieces) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::string& piece = pieces[i];
    if (i > 0) piece = piece.starts_with(prefix) ? piece.substr(prefix.size()) : " " + piece;
    if (cleans_up) piece = clean_up(std::move(piece));
  }
}

void strip_content(const std::string& content, size_t start, size_t stop, Pieces& pieces) {
  for (std::string& piece : pieces) {
    for (size_t i = 0; i < start && piece.starts_with(content); ++i) piece.erase(0, content.size());
    for (size_t i = 0; i < stop && piece.ends_with(content); ++i) piece.resize(piece.size() - content.size());
  }
}

size_t read_count(JsonPart& part, const char* key) {
  const auto& count = part.get(key);
  part.expect(count.is_number_unsigned() && count <= kMaxDimension, key, "a number", count);
  return count.get<size_t>();
}

std::string read_not_empty(JsonPart& part, const char* key) {
  std::string text = part.text(key);
  part.expect(!text.empty(), key, "a text that is not empty", text);
  return text;
}

}  // namespace

Decoder::Decoder(const nlohmann::json& json, const std::string& context, bool has_bytes) {
  if (!json.is_null()) {
    std::vector<JsonPart> parts;
    JsonPart(json, context, "decoder").for_each("decoders", [&](JsonPart& part) { parts.push_back(part); });
    const bool is_byte_level = has_bytes && parts.size() == 1 && parts[0].type() == "ByteLevel";
    if (!is_byte_level)
      for (JsonPart& part : parts) read(part);
  } else if (!has_bytes) {
    steps_.emplace_back([](Pieces& pieces) {
      for (size_t i = 1; i < pieces.size(); ++i) pieces[i] = " " + pieces[i];
    });
  }
}

void Decoder::read(JsonPart& part) {
  const std::string type = part.type();
  if (type == "ByteLevel") {
    part.ignore({"add_prefix_space", "trim_offsets", "use_regex"});
    steps_.emplace_back([](Pieces& pieces) {
      std::string bytes;
      for (const std::string& piece : pieces) bytes += notated_bytes(piece).value_or(piece);
      pieces = {bytes};
    });
  } else if (type == "WordPiece") {
    steps_.emplace_back([prefix = part.text("prefix", "##"), cleans_up = part.flag("cleanup", true)](Pieces& pieces) {
      join_wordpieces(prefix, cleans_up, pieces);
    });
  } else if (type == "BPEDecoder") {
    steps_.emplace_back([suffix = TextPattern::literal(read_not_empty(part, "suffix"))](Pieces& pieces) {
      for (size_t i = 0; i < pieces.size(); ++i)
        pieces[i] = suffix.replace(pieces[i], i + 1 == pieces.size() ? "" : " ");
    });
  } else if (type == "Metaspace") {
    const std::string scheme = part.text("prepend_scheme", part.flag("add_prefix_space", true) ? "always" : "never");
    const TextPattern replacement = TextPattern::literal(read_not_empty(part, "replacement"));
    part.ignore({"add_prefix_space", "split", "str_rep"});
    steps_.emplace_back([replacement, drops_first = scheme != "never"](Pieces& pieces) {
      for (size_t i = 0; i < pieces.size(); ++i)
        pieces[i] = replacement.replace(pieces[i], i == 0 && drops_first ? "" : " ");
    });
  } else if (type == "ByteFallback") {
    steps_.emplace_back(join_bytes);
  } else if (type == "Fuse") {
    steps_.emplace_back([](Pieces& pieces) { pieces = {joined(pieces)}; });
  } else if (type == "Strip") {
    steps_.emplace_back(
        [content = read_not_empty(part, "content"), start = read_count(part, "start"),
         stop = read_count(part, "stop")](Pieces& pieces) { strip_content(content, start, stop, pieces); });
  } else if (type == "Replace") {
    steps_.emplace_back([pattern = TextPattern::read(part, "pattern"), content = part.text("content")](Pieces& pieces) {
      for (std::string& piece : pieces) piece = pattern.replace(piece, content);
    });
  } else {
    part.refuse("type", "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip or WordPiece", type);
  }
  part.finish();
}

std::string Decoder::operator()(std::vector<std::string> pieces) const {
  for (const Step& step : steps_) step(pieces);
  return joined(pieces);
}

}  // namespace gyre
