#include "gyre/data/tokenizer/hugging_face/added_tokens.h"

#include <algorithm>

#include "gyre/data/tokenizer/hugging_face/characters.h"

namespace gyre {

namespace {

bool begins_with_word(std::string_view text) {
  UChar32 c = 0;
  int32_t at = 0;
  U8_NEXT_OR_FFFD(text.data(), at, int32_t(text.size()), c);
  return is_word_character(c);
}

bool ends_with_word(std::string_view text) {
  UChar32 c = 0;
  auto at = int32_t(text.size());
  U8_PREV_OR_FFFD(text.data(), 0, at, c);
  return is_word_character(c);
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : is_empty_(tokens.empty()) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.content.size() > b.content.size(); });
  for (AddedToken& token : tokens) tokens_[uint8_t(token.content.front())].push_back(std::move(token));
}

const AddedToken* AddedTokens::leading(std::string_view text) const {
  for (const AddedToken& token : tokens_[uint8_t(text.front())])
    if (text.starts_with(token.content)) return &token;
  return nullptr;
}

void AddedTokens::split(std::string_view text, const OnText& on_text, const OnToken& on_token) const {
  size_t plain = 0;  // beginning of the text that is not yet split; white space may put it after `at`
  for (size_t at = 0; !is_empty_ && at < text.size();) {
    const AddedToken* token = leading(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at += token->content.size();
    if (token->stays_text) continue;
    if (token->single_word && ((begin > 0 && ends_with_word(text.substr(0, begin))) ||
                               (end < text.size() && begins_with_word(text.substr(end)))))
      continue;
    if (token->lstrip) begin = std::max(plain, begin - trailing_space(text.substr(0, begin)));
    if (token->rstrip) end += leading_space(text.substr(end));
    if (plain < begin) on_text(text.substr(plain, begin - plain), plain == 0);
    on_token(token->id);
    plain = end;
  }
  if (plain < text.size()) on_text(text.substr(plain), plain == 0);
}

}  // namespace gyre
