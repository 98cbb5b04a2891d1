// Metrics of text: their input, the counts from which they are computed, and rules that several of them share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

using Lines = std::vector<std::string>;

// Throws an Error if there are no hypotheses or references, or if a reference has a different number of lines.
inline void require_parallel(std::string_view metric, const Lines& hypotheses, const std::vector<Lines>& references) {
  require(!hypotheses.empty(), "[", metric, "] expected at least one hypothesis, got none");
  require(!references.empty(), "[", metric, "] expected at least one reference, got none");
  for (size_t i = 0; i < references.size(); ++i) {
    require(references[i].size() == hypotheses.size(), "[", metric,
            "] expected as many reference lines as hypotheses, got ", hypotheses.size(), " hypotheses and ",
            references[i].size(), " lines in reference ", i + 1);
  }
}

// Returns the percentage of hypotheses that equal their reference byte for byte, 0..100. Throws an Error with both line
// counts if they differ.
inline double exact_match(const Lines& hypotheses, const Lines& references) {
  require_parallel("exact match", hypotheses, {references});
  size_t equal = 0;
  for (size_t i = 0; i < hypotheses.size(); ++i) equal += hypotheses[i] == references[i];
  return 100.0 * double(equal) / double(hypotheses.size());
}

// The counts of each sentence from which a corpus metric is computed. Their sum over any set of
// sentences gives the score of that set, so that resampling need not look at the text again.
class SentenceStatistics {
 public:
  // width: the number of counts per sentence, at least 1.
  explicit SentenceStatistics(size_t width) : width_(width) {}

  void add(std::span<const int64_t> counts) { values_.insert(values_.end(), counts.begin(), counts.end()); }
  size_t width() const { return width_; }
  size_t sentences() const { return values_.size() / width_; }
  const int64_t* sentence(size_t i) const { return values_.data() + i * width_; }  // [width]

  std::vector<int64_t> sum() const {
    std::vector<int64_t> sums(width_);
    for (size_t i = 0; i < values_.size(); ++i) sums[i % width_] += values_[i];
    return sums;
  }

 private:
  size_t width_;
  std::vector<int64_t> values_;  // [sentences, width]
};

// The score of summed statistics.
using ScoreOfSums = std::function<double(std::span<const int64_t>)>;

// Python's str.lower(), because the metrics must change text as sacreBLEU does: full, locale-independent lowercase
// mapping. One code point may become two; a final sigma becomes U+03C2.
std::u32string lowercase(std::u32string_view text);

// The functions below are substitutions that the tokenizers of mteval (BLEU) and tercom (TER) have in common.

// The position of the space that a substitution inserts next to its two matched characters.
enum class Spaces { around_first, around_second };

// Like re.sub with a two-character pattern: leftmost matches without overlaps, so a matched pair is skipped as a whole.
template <class First, class Second>
std::u32string space_pairs(std::u32string_view text, First first, Second second, Spaces spaces) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (spaces == Spaces::around_first) result += U' ';
    result += text[i];
    result += U' ';
    result += text[++i];
    if (spaces == Spaces::around_second) result += U' ';
  }
  return result;
}

template <class Match>
std::u32string space_around(std::u32string_view text, Match match) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (const char32_t c : text) {
    if (match(c)) {
      result.append({U' ', c, U' '});
    } else {
      result += c;
    }
  }
  return result;
}

std::u32string replace_all(std::u32string text, std::u32string_view from, std::u32string_view to);

// &quot; &amp; &lt; &gt; become characters, in this order: "&amp;lt;" ends as "<".
std::u32string unescape_sgml(std::u32string text);

// Spaces around ASCII symbols and punctuation except ' , - and .
std::u32string space_ascii_symbols(std::u32string_view text);

// Spaces around each comma and full stop that has no digit on at least one side, and around a dash after a digit.
// The text should begin and end with a space, because the rules look at pairs of characters.
std::u32string space_numbers(std::u32string_view text);

}  // namespace gyre
