#include "gyre/data/tokenizer/byte_bpe/added_tokens.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace gyre {

namespace {

std::string_view without_space_at_end(std::string_view text) {
  auto end = int32_t(text.size());
  for (int32_t before = end; before > 0; end = before) {
    UChar32 c = 0;
    U8_PREV_OR_FFFD(text.data(), 0, before, c);
    if (!u_isUWhiteSpace(c)) break;
  }
  return text.substr(0, size_t(end));
}

size_t bytes_of_leading_space(std::string_view text) {
  int32_t begin = 0;
  for (int32_t after = 0; after < int32_t(text.size()); begin = after) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), after, int32_t(text.size()), c);
    if (!u_isUWhiteSpace(c)) break;
  }
  return size_t(begin);
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
  size_t plain = 0;  // beginning of the text that is not yet split
  for (size_t at = 0; !is_empty_ && at < text.size();) {
    const AddedToken* token = leading(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::string_view before = text.substr(plain, at - plain);
    if (token->lstrip) before = without_space_at_end(before);
    if (!before.empty()) on_text(before);
    on_token(token->id);
    at += token->content.size();
    if (token->rstrip) at += bytes_of_leading_space(text.substr(at));
    plain = at;
  }
  if (plain < text.size()) on_text(text.substr(plain));
}

}  // namespace gyre
