// Translation edit rate (Snover et al., 2006), equal to sacreBLEU and so, except in degenerate cases, to tercom:
//   TER = 100 * edits / reference length,
// where an edit inserts, deletes or replaces a word or shifts a block of words. Shifts are found greedily.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/train/metrics/text.h"

namespace gyre {

struct TerOptions {
  // tercom's -N: unescape SGML, and split ASCII punctuation from words. sacreBLEU 2.6 does this twice to references,
  // and once to hypotheses, so that "Sainsbury's," has one word more in a reference there.
  bool normalized = false;
  bool no_punctuation = false;  // tercom's -P: remove . , ? : ; ! " ( )
  bool case_sensitive = false;
};

struct TerScore {
  double score = 0;             // 0 is perfect; may exceed 100
  int64_t edits = 0;            // edits with respect to the nearest reference of each sentence
  double reference_length = 0;  // words; mean over the references of each sentence
  std::string signature;        // "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|impl:gyre"
};

// references[k][i] is the k-th reference of hypotheses[i]. Throws an Error with both line counts if they differ.
TerScore corpus_ter(const Lines& hypotheses, const std::vector<Lines>& references, const TerOptions& options = {});

// corpus_ter() in two steps. The statistics are the edits and the total length of the references; width 2.
SentenceStatistics ter_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                  const TerOptions& options);
// Leaves the signature empty.
TerScore ter_score(std::span<const int64_t> sums, size_t references);
std::string ter_signature(size_t references, const TerOptions& options);

// The words that TER compares.
std::vector<std::u32string> ter_words(std::string_view line, const TerOptions& options);

// The output format of sacreBLEU: "TER|<signature> = 61.20".
std::string format_line(const TerScore& score);

}  // namespace gyre
