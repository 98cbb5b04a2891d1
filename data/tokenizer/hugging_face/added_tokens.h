// Tokens that are found in a text before it is split into words: special tokens and those of the user.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool special = false;
  bool normalized = false;              // sought in the normalized text, after those that are not
  bool lstrip = false, rstrip = false;  // takes the white space before or after it along
  bool stays_text = false;              // is plain text, with split_special_tokens; so are tokens inside it
  bool single_word = false;             // only where no letter, digit or "_" is next to it
};

// Finds tokens from left to right, the longest one where several begin.
class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);  // the contents of the tokens are not empty

  // begins: whether the text between tokens begins at the beginning of the whole text.
  using OnText = std::function<void(std::string_view text, bool begins)>;
  using OnToken = std::function<void(int32_t id)>;
  // Calls on_token for the tokens in the text and on_text for the non-empty texts between them, in order. Thread-safe.
  void split(std::string_view text, const OnText& on_text, const OnToken& on_token) const;

 private:
  const AddedToken* leading(std::string_view text) const;

  std::array<std::vector<AddedToken>, 256> tokens_;  // tokens by first byte, the longest first
  bool is_empty_;
};

}  // namespace gyre
