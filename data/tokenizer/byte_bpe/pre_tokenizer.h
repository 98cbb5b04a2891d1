// The pre-tokenizers of byte-level BPE: regular expressions that split a text into words, which no piece crosses.
#pragma once

#include <unicode/regex.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Regular expressions of GPT-2 (encoder.py of openai/gpt-2) and of Llama 3 (tokenizer.py of meta-llama/llama3).
extern const char* const kGpt2Words;
extern const char* const kLlama3Words;

struct PreTokenizerOptions {
  // Applied one after another: each splits the words of the one before at the ends of its matches. In ICU's syntax.
  std::vector<std::string> patterns{};
  bool add_prefix_space = false;  // after the patterns: puts a space before a word that begins with none
  bool gpt2_words = false;        // finally splits at kGpt2Words
};

class PreTokenizer {
 public:
  // Throws an Error that begins with `context` for a pattern that is no regular expression.
  PreTokenizer(const std::string& context, const PreTokenizerOptions& options);
  ~PreTokenizer();

  using Visit = std::function<void(std::string_view word)>;
  // Calls visit(word) for the non-empty words in their order. Together they have the bytes of the text, and the spaces
  // of add_prefix_space. Bytes that are not UTF-8 look like U+FFFD to the patterns and keep their values. Thread-safe.
  // Throws an Error if a pattern needs far more steps than a text of this length should.
  void split(std::string_view text, const Visit& visit) const;

 private:
  using Matchers = std::vector<std::unique_ptr<icu::RegexMatcher>>;
  void split_from(size_t step, std::string_view text, Matchers& matchers, const Visit& visit) const;
  void split_at_matches(size_t step, std::string_view text, Matchers& matchers, const Visit& visit) const;

  std::vector<std::unique_ptr<icu::RegexPattern>> patterns_;
  size_t prefix_step_;  // the number of patterns before the prefix; SIZE_MAX: no prefix
};

}  // namespace gyre
