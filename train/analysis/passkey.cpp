#include "gyre/train/analysis/passkey.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/core/random.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

constexpr std::string_view kInstruction =
    "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. I will quiz you "
    "about the important information there.";
constexpr std::string_view kFiller =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";
constexpr std::string_view kQuestion = "What is the pass key? The pass key is";
constexpr std::string_view kDigits = "0123456789";

bool ends_sentence(std::string_view word) { return word.find_last_of(".!?") == word.size() - 1; }

}  // namespace

PasskeyTask::PasskeyTask(std::string_view filler, uint64_t seed) : seed_(seed) {
  for (const std::u32string& word : split_words(code_points(filler.empty() ? kFiller : filler)))
    filler_.push_back(to_utf8(word));
  require(!filler_.empty(), "[passkey] expected a text with words, got none");
}

PasskeyPrompt PasskeyTask::prompt(size_t words, double depth, uint64_t stream) const {
  constexpr uint32_t kFirst = 10'000, kKeys = 90'000;  // five digits, the first of which is not 0
  const std::string key = std::to_string(kFirst + random_u32(seed_, stream, 0) % kKeys);
  auto before = size_t(std::llround(depth * double(words)));
  if (before < words)
    while (before > 0 && !ends_sentence(filler_[(before - 1) % filler_.size()])) --before;
  std::string text(kInstruction);
  for (const std::string& line :
       {joined_words(0, before), concat("The pass key is ", key, ". Remember it. ", key, " is the pass key."),
        joined_words(before, words), std::string(kQuestion)})
    text += line.empty() ? "" : "\n" + line;
  return {text, key};
}

std::string PasskeyTask::joined_words(size_t begin, size_t end) const {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += (text.empty() ? "" : " ") + filler_[i % filler_.size()];
  return text;
}

size_t PasskeyTask::words_within(int64_t limit, double depth, uint64_t stream,
                                 const std::function<int64_t(const std::string&)>& count_tokens) const {
  const auto fits = [&](size_t words) { return count_tokens(prompt(words, depth, stream).text) <= limit; };
  if (!fits(0))
    throw Error("[passkey] expected a length with room for the task alone, ",
                count_tokens(prompt(0, depth, stream).text), " tokens, got room for ", limit);
  size_t most = 0, too_many = 1;
  for (; fits(too_many); too_many *= 2) most = too_many;
  while (too_many - most > 1) {
    const size_t middle = most + (too_many - most) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  return most;
}

bool has_key(std::string_view continuation, std::string_view key) {
  const size_t begin = std::min(continuation.find_first_of(kDigits), continuation.size());
  continuation.remove_prefix(begin);
  return continuation.substr(0, continuation.find_first_not_of(kDigits)) == key;
}

}  // namespace gyre
