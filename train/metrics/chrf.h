// chrF (Popović, 2015) and chrF++ (word_order 2; Popović, 2017), equal to sacreBLEU:
//   chrF = (1 + b^2) P R / (b^2 P + R),
// where P and R are the mean precision and recall over the n-gram orders that occur on both sides of the corpus. White
// space is ignored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gyre/train/metrics/text.h"

namespace gyre {

struct ChrfOptions {
  int character_order = 6;  // longest character n-gram
  int word_order = 0;       // longest word n-gram: 2 is chrF++
  int beta = 2;             // recall counts beta times as much as precision
  bool lowercase = false;
};

struct ChrfScore {
  double score = 0;       // 0..100
  std::string name;       // "chrF2", "chrF2++"
  std::string signature;  // "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|impl:gyre"
};

// references[k][i] is the k-th reference of hypotheses[i]; the best reference counts. Throws an Error with both line
// counts if they differ.
ChrfScore corpus_chrf(const Lines& hypotheses, const std::vector<Lines>& references, const ChrfOptions& options = {});

// corpus_chrf() in two steps. The statistics are the numbers of n-grams in the hypothesis, in the reference and in
// both, for each character order and then for each word order.
SentenceStatistics chrf_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                   const ChrfOptions& options);
double chrf_score(std::span<const int64_t> sums, const ChrfOptions& options);  // 0..100
std::string chrf_name(const ChrfOptions& options);
std::string chrf_signature(size_t references, const ChrfOptions& options);

// The output format of sacreBLEU: "chrF2|<signature> = 51.95".
std::string format_line(const ChrfScore& score);

}  // namespace gyre
