// Tokenized BLEU as papers on WMT14 English-German report it: the score of the Moses script multi-bleu.perl, and the
// same after compounds are split at their hyphens, as in "Attention Is All You Need" (Vaswani et al., 2017).
//
// It differs from sacreBLEU in the tokens and in the smoothing, of which it has none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/train/metrics/bleu.h"

namespace gyre {

struct MosesBleuOptions {
  // get_ende_bleu.sh of tensor2tensor: "rich-text" becomes "rich ##AT##-##AT## text" on both sides. Text that is not
  // tokenized yet has its Unicode quotes turned into ASCII quotes before, because the training data of that system has
  // no others. The script does so to the references only, here it is done to both sides.
  bool split_compounds = false;
  bool tokenized = false;       // the lines are tokens already, divided by white space
  std::string language = "de";  // language of the Moses tokenizer
  bool lowercase = false;       // ASCII letters only, as multi-bleu.perl -lc does
};

// references[k][i] is the k-th reference of hypotheses[i]. Throws an Error with both line counts if they differ, and,
// to split compounds, if a line contains the token "@-@": the tokenizer has split its hyphens before.
BleuScore corpus_moses_bleu(const Lines& hypotheses, const std::vector<Lines>& references,
                            const MosesBleuOptions& options = {});

// corpus_moses_bleu() in steps: the statistics of bleu_statistics(), and the options of bleu_score(), i.e. no
// smoothing.
SentenceStatistics moses_bleu_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                         const MosesBleuOptions& options);
BleuOptions moses_bleu_scoring();
std::string moses_bleu_signature(size_t references, const MosesBleuOptions& options);

// perl's s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g on bytes. Matches do not overlap: "a-b-c" is split once.
std::string split_compounds(std::string_view line);

// Turns Unicode quotes into " and '.
std::string ascii_quotes(std::string_view line);

}  // namespace gyre
