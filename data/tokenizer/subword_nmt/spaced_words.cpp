#include "gyre/data/tokenizer/subword_nmt/spaced_words.h"

#include <algorithm>

namespace gyre {

namespace {

constexpr std::string_view kSpaces[] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           "\x1c",         "\x1d",
    "\x1e",         "\x1f",         "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
    "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88",
    "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

bool ends_symbol(std::string_view before) {
  return before.empty() || before.ends_with(' ') ||
         std::any_of(std::begin(kSpaces), std::end(kSpaces), [&](auto space) { return before.ends_with(space); });
}

bool begins_symbol(std::string_view after) {
  return after.empty() || after.starts_with(' ') ||
         std::any_of(std::begin(kSpaces), std::end(kSpaces), [&](auto space) { return after.starts_with(space); });
}

}  // namespace

bool contains_space(std::string_view text) {
  return std::any_of(std::begin(kSpaces), std::end(kSpaces),
                     [&](auto space) { return text.find(space) != std::string_view::npos; });
}

std::vector<std::string> merge_in_spaced_word(const std::vector<std::string>& symbols, const std::string& left,
                                              const std::string& right) {
  std::string text;
  for (const std::string& symbol : symbols) text += (text.empty() ? "" : " ") + symbol;
  const std::string pair = left + " " + right;
  for (size_t at = text.find(pair); at != std::string::npos; at = text.find(pair, at)) {
    const std::string_view view = text;
    if (ends_symbol(view.substr(0, at)) && begins_symbol(view.substr(at + pair.size()))) {
      text.erase(at + left.size(), 1);
      at += pair.size() - 1;
    } else {
      ++at;
    }
  }
  std::vector<std::string> merged{""};
  for (const char c : text) c == ' ' ? void(merged.emplace_back()) : merged.back().push_back(c);
  return merged;
}

}  // namespace gyre
