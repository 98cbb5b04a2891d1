#include "gyre/train/metrics/ter.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "gyre/train/metrics/code_points.h"
#include "gyre/train/metrics/mteval_rules.h"
#include "gyre/train/metrics/word_edits.h"

namespace gyre {
namespace {

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
