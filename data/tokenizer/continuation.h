// The text of a continuation of a prompt while its tokens arrive, up to a stop string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

class Continuation {
 public:
  // `prompt`: its ids. The strings of `stops` are not empty. The vocabulary and `stops` must outlive the object.
  // prompt_text: the text that was encoded. If the vocabulary drops a space at its end, the continuation drops the
  // space that it begins with, so that their concatenation has one space.
  Continuation(const Vocabulary& vocabulary, std::span<const int32_t> prompt, const std::vector<std::string>& stops,
               std::string_view prompt_text = {});

  // Sets the tokens so far. Returns true if their text contains a stop string: the text then ends before it.
  bool set(std::span<const int32_t> ids);
  const std::string& text() const { return text_; }  // UTF-8; U+FFFD stands for bytes that are no character
  // The first bytes of the text that further tokens cannot change: whole characters, and not the beginning of a stop
  // string.
  size_t settled() const;

 private:
  const Vocabulary& vocabulary_;
  std::vector<int32_t> ids_;  // ids of the prompt, then also of the continuation
  size_t prompt_ids_;
  std::string prompt_;  // decoded text of the prompt
  bool drops_space_;    // whether the continuation loses its first space
  const std::vector<std::string>& stops_;
  std::string text_;
};

}  // namespace gyre
