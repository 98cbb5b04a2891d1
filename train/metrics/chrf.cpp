#include "gyre/train/metrics/chrf.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "gyre/train/metrics/code_points.h"

namespace gyre {
namespace {

using NgramCounts = std::unordered_map<std::u32string, int64_t>;

// Number of n-grams of one order in the hypothesis, in the reference and in both.
struct OrderCounts {
  int64_t hypothesis = 0, reference = 0, both = 0;
};

using Statistics = std::vector<OrderCounts>;  // character orders first, then word orders

// Splits one ASCII punctuation mark from the end of a word, else from its beginning, like the reference chrF++ program.
std::vector<std::u32string> split_punctuation(const std::vector<std::u32string>& words) {
  constexpr std::u32string_view kPunctuation = U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  const auto is_mark = [&](char32_t c) { return kPunctuation.find(c) != std::u32string_view::npos; };
  std::vector<std::u32string> result;
  for (const auto& word : words) {
    size_t cut = 0;
    if (word.size() > 1 && is_mark(word.back())) {
      cut = word.size() - 1;
    } else if (word.size() > 1 && is_mark(word.front())) {
      cut = 1;
    }
    if (cut > 0) result.push_back(word.substr(0, cut));
    result.push_back(word.substr(cut));
  }
  return result;
}

NgramCounts count_characters(std::u32string_view text, size_t n) {
  NgramCounts counts;
  for (size_t i = 0; i + n <= text.size(); ++i) ++counts[std::u32string(text.substr(i, n))];
  return counts;
}

NgramCounts count_words(const std::vector<std::u32string>& words, size_t n) {
  NgramCounts counts;
  for (size_t i = 0; i + n <= words.size(); ++i) {
    std::u32string ngram;
    for (size_t k = 0; k < n; ++k) ngram += words[i + k] + U' ';
    ++counts[ngram];
  }
  return counts;
}

std::vector<NgramCounts> count_ngrams(const std::string& line, const ChrfOptions& options) {
  std::u32string text = code_points(line);
  if (options.lowercase) text = lowercase(text);
  const auto words = split_words(text);
  const auto characters = std::accumulate(words.begin(), words.end(), std::u32string());
  std::vector<NgramCounts> counts;
  for (int n = 1; n <= options.character_order; ++n) counts.push_back(count_characters(characters, size_t(n)));
  const auto pieces = split_punctuation(words);
  for (int n = 1; n <= options.word_order; ++n) counts.push_back(count_words(pieces, size_t(n)));
  return counts;
}

OrderCounts match(const NgramCounts& hypothesis, const NgramCounts& reference) {
  OrderCounts result;
  for (const auto& [ngram, count] : reference) result.reference += count;
  if (reference.empty()) return result;  // an order that the reference lacks does not count against the hypothesis
  for (const auto& [ngram, count] : hypothesis) {
    result.hypothesis += count;
    const auto found = reference.find(ngram);
    if (found != reference.end()) result.both += std::min(count, found->second);
  }
  return result;
}

double f_score(const Statistics& statistics, int beta) {
  double precision = 0, recall = 0;
  int orders = 0;
  for (const OrderCounts& counts : statistics) {
    if (counts.hypothesis == 0 || counts.reference == 0) continue;
    precision += double(counts.both) / double(counts.hypothesis);
    recall += double(counts.both) / double(counts.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const double factor = double(beta) * beta;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

Statistics best_reference(const std::vector<NgramCounts>& hypothesis, const std::vector<Lines>& references, size_t line,
                          const ChrfOptions& options) {
  Statistics best;
  double best_score = -1;
  for (const Lines& reference : references) {
    const auto counts = count_ngrams(reference[line], options);
    Statistics statistics;
    for (size_t n = 0; n < counts.size(); ++n) statistics.push_back(match(hypothesis[n], counts[n]));
    const double score = f_score(statistics, options.beta);
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(statistics);
  }
  return best;
}

}  // namespace

ChrfScore corpus_chrf(const Lines& hypotheses, const std::vector<Lines>& references, const ChrfOptions& options) {
  require_parallel("chrf", hypotheses, references);
  require(options.character_order > 0 && options.word_order >= 0 && options.beta > 0,
          "[chrf] expected a positive character order and beta and no negative word order, got ",
          options.character_order, ", ", options.beta, " and ", options.word_order);
  Statistics sums(size_t(options.character_order + options.word_order));
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const Statistics sentence = best_reference(count_ngrams(hypotheses[i], options), references, i, options);
    for (size_t n = 0; n < sums.size(); ++n) {
      sums[n].hypothesis += sentence[n].hypothesis;
      sums[n].reference += sentence[n].reference;
      sums[n].both += sentence[n].both;
    }
  }
  return {f_score(sums, options.beta),
          fmt::format("chrF{}{}", options.beta, std::string(size_t(options.word_order), '+')),
          fmt::format("nrefs:{}|case:{}|eff:yes|nc:{}|nw:{}|space:no|impl:gyre", references.size(),
                      options.lowercase ? "lc" : "mixed", options.character_order, options.word_order)};
}

std::string format_line(const ChrfScore& score) {
  return fmt::format("{}|{} = {:.2f}", score.name, score.signature, score.score);
}

}  // namespace gyre
