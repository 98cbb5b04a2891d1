#include "gyre/data/tokenizer/continuation.h"

#include <algorithm>

#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

// The number of bytes at the end of `text` that stand for bytes which the next ones may complete to a character.
size_t incomplete_bytes(std::string_view text) {
  size_t replaced = 0;
  while (text.substr(0, text.size() - replaced).ends_with(kReplacementCharacter))
    replaced += kReplacementCharacter.size();
  return replaced;
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
  text_ = replace_invalid_utf8(all.starts_with(prompt_) ? all.substr(prompt_.size()) : vocabulary_.decode(ids));
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
