#include "gyre/train/metrics/ter.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/metrics/mteval_rules.h"
#include "gyre/train/metrics/text.h"

namespace gyre {
namespace {

// ---- Edits between two sentences, with the search, the limits and the tie rules of sacreBLEU -----------------------

using WordIds = std::vector<int32_t>;

// Limits of tercom, and the number of candidates after which sacreBLEU gives up on further shifts.
constexpr int64_t kMaxShiftWords = 10, kMaxShiftDistance = 50, kBeamWidth = 25, kMaxCandidates = 1000;

constexpr int32_t kUnreachable = 1 << 30;

// The pairing of words that one cheapest path through the edit matrix implies.
struct Alignment {
  std::vector<int64_t>
      hypothesis_position;  // position of each reference word; if it is unpaired, of the one before it; or -1
  std::vector<bool> hypothesis_errors, reference_errors;  // words that the path does not match
};

// The edit distances between the prefixes of a hypothesis and of the reference. Row i, for the first i words of the
// hypothesis, covers only a beam around the diagonal. All hypotheses have the same length.
class EditMatrix {
 public:
  EditMatrix(size_t hypothesis_words, const WordIds& reference)
      : reference_(reference),
        rows_(int64_t(hypothesis_words)),
        columns_(int64_t(reference.size())),
        costs_(size_t((rows_ + 1) * (columns_ + 1)), kUnreachable) {
    for (int64_t j = 0; j <= columns_; ++j) at(0, j) = int32_t(j);
  }

  // Computes the rows after the first `unchanged` words, which are those of the last hypothesis. Returns the distance.
  int64_t compute(const WordIds& hypothesis, int64_t unchanged) {
    for (int64_t i = unchanged + 1; i <= rows_; ++i) compute_row(i, hypothesis[size_t(i - 1)]);
    return at(rows_, columns_);
  }

  // Copies the rows of the first `words` words.
  void copy_rows(const EditMatrix& other, int64_t words) {
    std::copy_n(other.costs_.begin(), (words + 1) * (columns_ + 1), costs_.begin());
  }

  // Follows the cheapest path back. Among equal costs it prefers to pair two words, then to skip a word of the
  // hypothesis.
  Alignment align(const WordIds& hypothesis) const {
    Alignment result{std::vector<int64_t>(size_t(columns_)), std::vector<bool>(size_t(rows_), true),
                     std::vector<bool>(size_t(columns_), true)};
    int64_t i = rows_, j = columns_;
    require(at(i, j) < kUnreachable, "[ter] no path through the edit matrix of ", i, " and ", j, " words");
    while (i > 0 || j > 0) {
      const bool is_same = i > 0 && j > 0 && hypothesis[size_t(i - 1)] == reference_[size_t(j - 1)];
      if (i > 0 && j > 0 && at(i, j) == at(i - 1, j - 1) + (is_same ? 0 : 1)) {
        --i;
        --j;
        result.hypothesis_errors[size_t(i)] = result.reference_errors[size_t(j)] = !is_same;
        result.hypothesis_position[size_t(j)] = i;
      } else if (i > 0 && at(i, j) == at(i - 1, j) + 1) {
        --i;
      } else {
        result.hypothesis_position[size_t(--j)] = i - 1;
      }
    }
    return result;
  }

 private:
  int32_t& at(int64_t i, int64_t j) { return costs_[size_t(i * (columns_ + 1) + j)]; }
  int32_t at(int64_t i, int64_t j) const { return costs_[size_t(i * (columns_ + 1) + j)]; }

  void compute_row(int64_t i, int32_t word) {
    const double length_ratio = double(columns_) / double(rows_);
    // A ratio beyond the width of the beam would leave no overlap between the beams of two rows.
    const int64_t beam =
        double(kBeamWidth) < length_ratio / 2 ? int64_t(std::ceil(length_ratio / 2 + kBeamWidth)) : kBeamWidth;
    const auto diagonal = int64_t(std::floor(double(i) * length_ratio));
    const int64_t begin = std::max<int64_t>(0, diagonal - beam);
    const int64_t end = i == rows_ ? columns_ + 1 : std::min(columns_ + 1, diagonal + beam);
    const int32_t* above = &at(i - 1, 0);
    int32_t* row = &at(i, 0);
    for (int64_t j = begin; j < end; ++j) {
      int32_t cost = above[j] + 1;
      if (j > 0) {
        cost = std::min(cost, above[j - 1] + (word == reference_[size_t(j - 1)] ? 0 : 1));
        if (j > begin) cost = std::min(cost, row[j - 1] + 1);
      }
      row[j] = std::min(cost, kUnreachable);
    }
  }

  const WordIds& reference_;
  int64_t rows_, columns_;
  std::vector<int32_t> costs_;  // [rows + 1, columns + 1]
};

// Moves the block of `length` words at `start` so that it stands before the word at `target`. A target inside the block
// moves the block by its distance from `start`.
WordIds shift(const WordIds& words, int64_t start, int64_t length, int64_t target) {
  WordIds result = words;
  const auto begin = result.begin();
  if (target < start) {
    std::rotate(begin + target, begin + start, begin + start + length);
  } else {
    const int64_t end = target > start + length ? target : std::min(length + target, int64_t(words.size()));
    std::rotate(begin + start, begin + start + length, begin + end);
  }
  return result;
}

bool any(const std::vector<bool>& flags, int64_t start, int64_t length) {
  return std::any_of(flags.begin() + start, flags.begin() + start + length, [](bool flag) { return flag; });
}

// The shifts of one hypothesis. tercom's order of preference: saved edits, longer blocks, earlier blocks, earlier
// targets.
class ShiftSearch {
 public:
  ShiftSearch(const WordIds& hypothesis, const WordIds& reference, const EditMatrix& matrix, int64_t distance)
      : hypothesis_(hypothesis),
        reference_(reference),
        matrix_(matrix),
        shifted_matrix_(matrix),
        distance_(distance),
        alignment_(matrix.align(hypothesis)) {}

  // Adds the number of shifts that it tries to `candidates`, and stops early at the limit.
  void run(int64_t& candidates) {
    const auto words = int64_t(hypothesis_.size()), reference_words = int64_t(reference_.size());
    for (int64_t start = 0; start < words; ++start) {
      const int64_t first = std::max<int64_t>(0, start - kMaxShiftDistance);
      const int64_t last = std::min(reference_words - 1, start + kMaxShiftDistance);
      for (int64_t target = first; target <= last; ++target) {
        for (int64_t length = 1; is_match(start, target, length); ++length) {
          if (!is_useful(start, target, length)) continue;
          try_targets(start, target, length, candidates);
          if (candidates >= kMaxCandidates) return;
        }
      }
    }
  }

  // Whether a shift saves edits; if so, words() is the hypothesis after the best one.
  bool saves_edits() const { return best_ && std::get<0>(*best_) > 0; }
  const WordIds& words() const { return best_words_; }

 private:
  using Rank = std::tuple<int64_t, int64_t, int64_t, int64_t>;  // saved edits, length, -start, -target

  // Whether the blocks of this length are equal. Their shorter prefixes are known to be.
  bool is_match(int64_t start, int64_t target, int64_t length) const {
    return length <= kMaxShiftWords && start + length <= int64_t(hypothesis_.size()) &&
           target + length <= int64_t(reference_.size()) &&
           hypothesis_[size_t(start + length - 1)] == reference_[size_t(target + length - 1)];
  }

  // Both blocks must contain errors, and the block must not already stand at its target.
  bool is_useful(int64_t start, int64_t target, int64_t length) const {
    const int64_t position = alignment_.hypothesis_position[size_t(target)];
    return any(alignment_.hypothesis_errors, start, length) && any(alignment_.reference_errors, target, length) &&
           (position < start || position >= start + length);
  }

  // Tries the positions after the words that are aligned with each reference word from the one before the target block.
  void try_targets(int64_t start, int64_t target, int64_t length, int64_t& candidates) {
    int64_t previous = -1;
    for (int64_t word = target - 1; word < target + length; ++word) {
      const int64_t position = word < 0 ? 0 : alignment_.hypothesis_position[size_t(word)] + 1;
      if (position == previous) continue;
      previous = position;
      ++candidates;
      try_shift(start, length, position);
    }
  }

  void try_shift(int64_t start, int64_t length, int64_t position) {
    WordIds shifted = shift(hypothesis_, start, length, position);
    const int64_t unchanged = std::min(start, position);
    shifted_matrix_.copy_rows(matrix_, unchanged);
    const Rank rank{distance_ - shifted_matrix_.compute(shifted, unchanged), length, -start, -position};
    if (best_ && rank <= *best_) return;
    best_ = rank;
    best_words_ = std::move(shifted);
  }

  const WordIds& hypothesis_;
  const WordIds& reference_;
  const EditMatrix& matrix_;
  EditMatrix shifted_matrix_;
  int64_t distance_;
  Alignment alignment_;
  std::optional<Rank> best_;
  WordIds best_words_;
};

// Insertions, deletions, replacements and block shifts that turn the hypothesis into the reference. An empty reference
// takes as many edits as the hypothesis has words.
int64_t edits_with_shifts(WordIds hypothesis, const WordIds& reference) {
  if (reference.empty()) return int64_t(hypothesis.size());
  EditMatrix matrix(hypothesis.size(), reference);
  int64_t shifts = 0, candidates = 0;
  while (true) {
    const int64_t distance = matrix.compute(hypothesis, 0);
    ShiftSearch search(hypothesis, reference, matrix, distance);
    search.run(candidates);
    if (candidates >= kMaxCandidates || !search.saves_edits()) return shifts + distance;
    ++shifts;
    hypothesis = search.words();
  }
}

std::u32string normalize(std::u32string text) {
  text = replace_all(std::move(text), U"\n-", U"");
  text = replace_all(std::move(text), U"\n", U" ");
  text = unescape_sgml(std::move(text));
  text = space_ascii_symbols(U' ' + text + U' ');
  return space_numbers(replace_all(std::move(text), U"'s ", U" 's "));
}

std::u32string remove_punctuation(std::u32string text) {
  std::erase_if(text, [](char32_t c) { return std::u32string_view(U".,?:;!\"()").find(c) != std::u32string::npos; });
  return text;
}

}  // namespace

std::vector<std::u32string> ter_words(std::string_view line, const TerOptions& options) {
  const std::u32string all = code_points(line);
  std::u32string text(strip_right(all));
  if (!options.case_sensitive) text = lowercase(text);
  if (options.normalized && !text.empty()) text = normalize(std::move(text));
  if (options.no_punctuation) text = remove_punctuation(std::move(text));
  return split_words(text);
}

SentenceStatistics ter_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                  const TerOptions& options) {
  require_parallel("ter", hypotheses, references);
  std::unordered_map<std::u32string, int32_t> numbers;
  const auto words = [&](const std::string& line) {
    WordIds ids;
    for (const auto& word : ter_words(line, options)) {
      ids.push_back(numbers.try_emplace(word, int32_t(numbers.size())).first->second);
    }
    return ids;
  };
  SentenceStatistics statistics(2);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const WordIds hypothesis = words(hypotheses[i]);
    int64_t fewest_edits = INT64_MAX, length = 0;
    for (const Lines& reference : references) {
      const WordIds reference_words = words(reference[i]);
      fewest_edits = std::min(fewest_edits, edits_with_shifts(hypothesis, reference_words));
      length += int64_t(reference_words.size());
    }
    statistics.add(std::array{fewest_edits, length});
  }
  return statistics;
}

TerScore ter_score(std::span<const int64_t> sums, size_t references) {
  TerScore result;
  result.edits = sums[0];
  result.reference_length = double(sums[1]) / double(references);
  if (sums[1] > 0) {
    result.score = 100 * (double(result.edits) / result.reference_length);
  } else {
    result.score = result.edits > 0 ? 100 : 0;  // words without any reference, or no words at all
  }
  return result;
}

std::string ter_signature(size_t references, const TerOptions& options) {
  return fmt::format("nrefs:{}|case:{}|tok:tercom|norm:{}|punct:{}|asian:no|impl:gyre", references,
                     options.case_sensitive ? "mixed" : "lc", options.normalized ? "yes" : "no",
                     options.no_punctuation ? "no" : "yes");
}

TerScore corpus_ter(const Lines& hypotheses, const std::vector<Lines>& references, const TerOptions& options) {
  TerScore result = ter_score(ter_statistics(hypotheses, references, options).sum(), references.size());
  result.signature = ter_signature(references.size(), options);
  return result;
}

std::string format_line(const TerScore& score) { return fmt::format("TER|{} = {:.2f}", score.signature, score.score); }

}  // namespace gyre
