// Corpus BLEU (Papineni et al., 2002), equal to sacreBLEU (Post, 2018):
//   BLEU = BP * exp(1/4 * sum_n log p_n),  BP = exp(1 - r/h) when h < r,  n = 1..4,
// p_n the clipped n-gram precision of the whole corpus, h the length of the hypotheses, r of the closest references.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "train/metrics/bleu_tokenizer.h"
#include "train/metrics/parallel_lines.h"

namespace gyre {

// What an order without a match counts as (Chen and Cherry, 2014).
enum class BleuSmoothing {
  kNone,   // precision 0, so BLEU 0
  kFloor,  // smoothing_value matches
  kAddK,   // smoothing_value is added to matches and total of every order above 1
  kExp,    // 1/2, 1/4, ... matches for the first, second, ... such order
};

// "none", "floor", "add-k", "exp"; another name throws.
BleuSmoothing bleu_smoothing(std::string_view name);

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  BleuSmoothing smoothing = BleuSmoothing::kExp;
  std::optional<double> smoothing_value;  // default: 0.1 for floor, 1 for add-k
  bool lowercase = false;
};

struct BleuScore {
  double score = 0;                                     // 0..100
  std::array<double, 4> precisions{};                   // percent, after smoothing
  double brevity_penalty = 0;                           // 0..1
  int64_t hypothesis_length = 0, reference_length = 0;  // tokens
  std::array<int64_t, 4> matches{}, totals{};           // clipped n-gram matches, n-grams of the hypotheses
  std::string signature;                                // "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|impl:gyre"
};

// references[k][i] is the k-th reference of hypotheses[i]; unequal line counts throw with both counts.
BleuScore corpus_bleu(const Lines& hypotheses, const std::vector<Lines>& references, const BleuOptions& options = {});

// sacreBLEU's line: "BLEU|<signature> = 28.60 59.3/34.3/22.1/14.9 (BP = 1.000 ratio = 1.016 hyp_len = 63666 ref_len =
// 62688)".
std::string format_line(const BleuScore& score);

}  // namespace gyre
