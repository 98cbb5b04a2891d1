#include "gyre/train/metrics/chrf.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "gyre/data/text/utf8.h"
#include "gyre/train/metrics/text.h"

namespace gyre {
namespace {

using CharacterNgrams = std::unordered_map<std::u32string, int64_t>;

using Statistics = std::vector<int64_t>;  // see chrf_statistics()

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

CharacterNgrams count_characters(std::u32string_view text, size_t n) {
  CharacterNgrams counts;
  for (size_t i = 0; i + n <= text.size(); ++i) ++counts[std::u32string(text.substr(i, n))];
  return counts;
}

CharacterNgrams count_words(const std::vector<std::u32string>& words, size_t n) {
  CharacterNgrams counts;
  for (size_t i = 0; i + n <= words.size(); ++i) {
    std::u32string ngram;
    for (size_t k = 0; k < n; ++k) ngram += words[i + k] + U' ';
    ++counts[ngram];
  }
  return counts;
}

std::vector<CharacterNgrams> count_ngrams(const std::string& line, const ChrfOptions& options) {
  std::u32string text = code_points(line);
  if (options.lowercase) text = lowercase(text);
  const auto words = split_words(text);
  const auto characters = std::accumulate(words.begin(), words.end(), std::u32string());
  std::vector<CharacterNgrams> counts;
  for (int n = 1; n <= options.character_order; ++n) counts.push_back(count_characters(characters, size_t(n)));
  const auto pieces = split_punctuation(words);
  for (int n = 1; n <= options.word_order; ++n) counts.push_back(count_words(pieces, size_t(n)));
  return counts;
}

// Appends the counts of one order.
void add_order(Statistics& statistics, const CharacterNgrams& hypothesis, const CharacterNgrams& reference) {
  int64_t in_hypothesis = 0, in_reference = 0, in_both = 0;
  for (const auto& [ngram, count] : reference) in_reference += count;
  for (const auto& [ngram, count] : hypothesis) {
    if (reference.empty()) break;  // an order that the reference lacks does not count against the hypothesis
    in_hypothesis += count;
    const auto found = reference.find(ngram);
    if (found != reference.end()) in_both += std::min(count, found->second);
  }
  statistics.insert(statistics.end(), {in_hypothesis, in_reference, in_both});
}

Statistics best_reference(const std::vector<CharacterNgrams>& hypothesis, const std::vector<Lines>& references,
                          size_t line, const ChrfOptions& options) {
  Statistics best;
  double best_score = -1;
  for (const Lines& reference : references) {
    const auto counts = count_ngrams(reference[line], options);
    Statistics statistics;
    for (size_t n = 0; n < counts.size(); ++n) add_order(statistics, hypothesis[n], counts[n]);
    const double score = chrf_score(statistics, options);
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(statistics);
  }
  return best;
}

}  // namespace

SentenceStatistics chrf_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                   const ChrfOptions& options) {
  require_parallel("chrf", hypotheses, references);
  require(options.character_order > 0 && options.word_order >= 0 && options.beta > 0,
          "[chrf] expected a positive character order and beta and no negative word order, got ",
          options.character_order, ", ", options.beta, " and ", options.word_order);
  SentenceStatistics statistics(3 * size_t(options.character_order + options.word_order));
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    statistics.add(best_reference(count_ngrams(hypotheses[i], options), references, i, options));
  }
  return statistics;
}

double chrf_score(std::span<const int64_t> sums, const ChrfOptions& options) {
  double precision = 0, recall = 0;
  int orders = 0;
  for (size_t n = 0; n < sums.size(); n += 3) {
    const int64_t in_hypothesis = sums[n], in_reference = sums[n + 1], in_both = sums[n + 2];
    if (in_hypothesis == 0 || in_reference == 0) continue;
    precision += double(in_both) / double(in_hypothesis);
    recall += double(in_both) / double(in_reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const double factor = double(options.beta) * options.beta;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

std::string chrf_name(const ChrfOptions& options) {
  return fmt::format("chrF{}{}", options.beta, std::string(size_t(options.word_order), '+'));
}

std::string chrf_signature(size_t references, const ChrfOptions& options) {
  return fmt::format("nrefs:{}|case:{}|eff:yes|nc:{}|nw:{}|space:no|impl:gyre", references,
                     options.lowercase ? "lc" : "mixed", options.character_order, options.word_order);
}

ChrfScore corpus_chrf(const Lines& hypotheses, const std::vector<Lines>& references, const ChrfOptions& options) {
  return {chrf_score(chrf_statistics(hypotheses, references, options).sum(), options), chrf_name(options),
          chrf_signature(references.size(), options)};
}

std::string format_line(const ChrfScore& score) {
  return fmt::format("{}|{} = {:.2f}", score.name, score.signature, score.score);
}

}  // namespace gyre
