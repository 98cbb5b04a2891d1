// Corpus BLEU (Papineni et al., 2002), equal to sacreBLEU (Post, 2018):
//   BLEU = BP * exp(1/4 * sum_n log p_n),  BP = exp(1 - r/h) when h < r,  n = 1..4,
// where p_n is the clipped n-gram precision of the whole corpus, h the total length of the hypotheses and r that of the
// closest references.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/data/text/moses/moses_tokenizer.h"
#include "gyre/train/metrics/text.h"

namespace gyre {

// The tokenizers of BLEU, equal to those of sacreBLEU. Scores are only comparable if they use the same tokenizer.
enum class BleuTokenizer : uint8_t {
  v13a,       // mteval-v13a: ASCII punctuation and symbols; the usual choice in papers
  intl,       // mteval-v14 international: Unicode punctuation and symbols
  character,  // every code point
  none,       // white space only, for tokenized text
};

template <>
inline constexpr std::pair<BleuTokenizer, std::string_view> kEnumNames<BleuTokenizer>[] = {
    {BleuTokenizer::v13a, "13a"},
    {BleuTokenizer::intl, "intl"},
    {BleuTokenizer::character, "char"},
    {BleuTokenizer::none, "none"}};

// Strips white space on the right, lowercases on request (before tokenization, as in sacreBLEU), and tokenizes.
std::vector<std::u32string> bleu_tokens(std::string_view line, BleuTokenizer tokenizer, bool lowercase);

// The smoothing of n-gram orders without a match (Chen and Cherry, 2014).
enum class BleuSmoothing : uint8_t {
  exp,    // the first, second, ... such order counts as 1/2, 1/4, ... matches
  floor,  // counts as smoothing_value matches
  add_k,  // smoothing_value is added to matches and total of every order above 1
  none,   // precision 0, so BLEU 0
};

template <>
inline constexpr std::pair<BleuSmoothing, std::string_view> kEnumNames<BleuSmoothing>[] = {
    {BleuSmoothing::exp, "exp"},
    {BleuSmoothing::floor, "floor"},
    {BleuSmoothing::add_k, "add-k"},
    {BleuSmoothing::none, "none"}};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smoothing_value;  // default: 0.1 for floor, 1 for add-k
  bool lowercase = false;
};

struct BleuScore {
  double score = 0;                                     // 0..100
  std::array<double, 4> precisions{};                   // percent, after smoothing
  double brevity_penalty = 0;                           // 0..1
  int64_t hypothesis_length = 0, reference_length = 0;  // tokens
  std::array<int64_t, 4> matches{}, totals{};           // clipped matches and n-grams of the hypotheses, by order
  std::string signature;                                // "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|impl:gyre"
};

// references[k][i] is the k-th reference of hypotheses[i]. Throws an Error with both line counts if they differ.
BleuScore corpus_bleu(const Lines& hypotheses, const std::vector<Lines>& references, const BleuOptions& options = {});

// corpus_bleu() in two steps. The statistics are the lengths of hypothesis and reference, then matches and totals by
// order; width 10.
using LineTokenizer = std::function<std::vector<std::u32string>(const std::string& line)>;
SentenceStatistics bleu_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                   const LineTokenizer& tokenize);
// Leaves the signature empty.
BleuScore bleu_score(std::span<const int64_t> sums, const BleuOptions& options);
std::string bleu_signature(size_t references, const BleuOptions& options);

// The output format of sacreBLEU:
// "BLEU|<signature> = 28.60 59.3/34.3/22.1/14.9 (BP = 1.000 ratio = 1.016 hyp_len = 63666 ref_len = 62688)".
std::string format_line(const BleuScore& score);
// The part after the score.
std::string format_details(const BleuScore& score);

// Tokenized BLEU as papers on WMT14 English-German report it: the score of the Moses script multi-bleu.perl, and the
// same after compounds are split at their hyphens, as in "Attention Is All You Need" (Vaswani et al., 2017).
//
// It differs from sacreBLEU in the tokens and in the smoothing, of which it has none.
struct MosesBleuOptions {
  // get_ende_bleu.sh of tensor2tensor: "rich-text" becomes "rich ##AT##-##AT## text" on both sides. Text that is not
  // tokenized yet has its Unicode quotes turned into ASCII quotes before, because the training data of that system has
  // no others. The script does so to the references only, here it is done to both sides.
  bool split_compounds = false;
  bool tokenized = false;  // the lines are tokens already, divided by white space
  MosesLanguage language = MosesLanguage::german;
  bool lowercase = false;  // ASCII letters only, as multi-bleu.perl -lc does
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
