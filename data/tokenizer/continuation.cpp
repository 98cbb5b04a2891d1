#include "gyre/data/tokenizer/continuation.h"

#include <algorithm>

namespace gyre {

namespace {

// The number of bytes at the end of `text` that begin a character without completing it, or that stand for such bytes:
// SentencePiece decodes each as a replacement character.
size_t incomplete_bytes(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  size_t replaced = 0;
  while (text.substr(0, text.size() - replaced).ends_with(kReplacement)) replaced += kReplacement.size();
  if (replaced > 0) return replaced;
  constexpr size_t kLongest = 4;
  for (size_t back = 1; back <= std::min(kLongest, text.size()); ++back) {
    const auto byte = uint8_t(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // inside a character
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

Continuation::Continuation(const Vocabulary& vocabulary, std::span<const int32_t> prompt,
                           const std::vector<std::string>& stops, std::string_view prompt_text)
    : vocabulary_(vocabulary),
      ids_(prompt.begin(), prompt.end()),
      prompt_ids_(ids_.size()),
      prompt_(vocabulary.decode(ids_)),
      drops_space_(prompt_text.ends_with(' ') && !prompt_.ends_with(' ')),
      stops_(stops) {}

// The pieces are decoded together with those of the prompt, because a piece can begin with a space or without one. A
// vocabulary whose decoding changes the prompt decodes the continuation alone.
bool Continuation::set(std::span<const int32_t> ids) {
  ids_.resize(prompt_ids_);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  const std::string all = vocabulary_.decode(ids_);
  text_ = all.starts_with(prompt_) ? all.substr(prompt_.size()) : vocabulary_.decode(ids);
  if (drops_space_ && text_.starts_with(' ')) text_.erase(0, 1);
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, text_.find(stop));
  if (end == std::string::npos) return false;
  text_.resize(end);
  return true;
}

size_t Continuation::settled() const {
  size_t end = text_.size() - incomplete_bytes(text_);
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, text_.size()); length > 0; --length) {
      if (!text_.ends_with(stop.substr(0, length))) continue;
      end = std::min(end, text_.size() - length);
      break;
    }
  }
  return end;
}

}  // namespace gyre
