#include "gyre/core/suggestions.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace gyre {

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the matrix are enough, because a swap reads the row two steps back.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = int(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = int(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

namespace {

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty() && words.size() > 1) words.pop_back();
  return words;
}

std::string digits_of(std::string_view name) {
  std::string digits;
  std::copy_if(name.begin(), name.end(), std::back_inserter(digits), [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

constexpr int kTooMany = 1000;

// The number of typing errors that turn one word into the other, or kTooMany if they are two words rather than a
// mistyped one.
int typing_errors(const std::string& a, const std::string& b) {
  constexpr size_t kShort = 4, kLong = 8;
  const int edits = edit_distance(a, b);
  const size_t length = std::max(a.size(), b.size());
  const bool is_typo = edits == 0 || (edits == 1 && (length >= kShort || a.size() != b.size())) ||
                       (edits == 2 && length >= kLong && a.front() == b.front());
  return is_typo ? edits : kTooMany;
}

int typing_errors(std::string_view name, std::string_view candidate) {
  const std::string digits = digits_of(name), expected = digits_of(candidate);
  if (!digits.empty() && !expected.empty() && digits != expected) return kTooMany;  // a number is another name
  const std::vector<std::string> given = words_of(name), known = words_of(candidate);
  const auto joined = [](const std::vector<std::string>& words) {
    return std::accumulate(words.begin(), words.end(), std::string());
  };
  if (given.size() != known.size()) return 1 + typing_errors(joined(given), joined(known));
  int sum = 0;
  for (size_t i = 0; i < given.size(); ++i) sum += typing_errors(given[i], known[i]);
  return sum;
}

}  // namespace

std::string closest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr int kMostErrors = 2;
  std::string best;
  int fewest = kMostErrors + 1;
  for (const auto& candidate : candidates) {
    const int errors = typing_errors(name, candidate);
    if (errors < fewest) {
      fewest = errors;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = closest_name(name, candidates);
  return best.empty() ? "" : "; did you mean " + best + "?";
}

}  // namespace gyre
