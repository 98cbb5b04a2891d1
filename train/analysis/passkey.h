// The pass key task (Mohtashami and Jaggi 2023): a long text that means nothing contains a number, which a language
// model is asked for at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

struct PasskeyPrompt {
  std::string text, key;
};

class PasskeyTask {
 public:
  // filler: the text around the number, which is repeated as often as needed; empty: that of the paper. Throws an Error
  // for a text without words.
  PasskeyTask(std::string_view filler, uint64_t seed);

  // A prompt with this number of words of filler. The number stands behind the last sentence that ends within the share
  // `depth` of them, 0..1; with 1 behind all. `stream` selects the number.
  PasskeyPrompt prompt(size_t words, double depth, uint64_t stream) const;
  // The largest number of words with which the prompt has at most `limit` tokens. Throws an Error if there is none.
  size_t words_within(int64_t limit, double depth, uint64_t stream,
                      const std::function<int64_t(const std::string&)>& count_tokens) const;

 private:
  std::string joined_words(size_t begin, size_t end) const;

  std::vector<std::string> filler_;
  uint64_t seed_;
};

// Whether the first number of a continuation is the key.
bool has_key(std::string_view continuation, std::string_view key);

}  // namespace gyre
