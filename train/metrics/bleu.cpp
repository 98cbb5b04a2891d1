#include "gyre/train/metrics/bleu.h"

#include <spdlog/fmt/fmt.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/metrics/mteval_rules.h"
#include "gyre/train/metrics/text.h"

namespace gyre {

namespace {

std::u32string tokenize_13a(std::u32string text) {
  text = replace_all(std::move(text), U"<skipped>", U"");
  text = replace_all(std::move(text), U"-\n", U"");
  text = replace_all(std::move(text), U"\n", U" ");
  text = unescape_sgml(std::move(text));
  return space_numbers(space_ascii_symbols(U' ' + text + U' '));
}

std::u32string tokenize_intl(std::u32string_view text) {
  const auto punctuation = [](char32_t c) { return (U_GET_GC_MASK(UChar32(c)) & U_GC_P_MASK) != 0; };
  const auto symbol = [](char32_t c) { return (U_GET_GC_MASK(UChar32(c)) & U_GC_S_MASK) != 0; };
  const auto not_number = [](char32_t c) { return (U_GET_GC_MASK(UChar32(c)) & U_GC_N_MASK) == 0; };
  std::u32string result = space_pairs(text, not_number, punctuation, Spaces::around_second);
  result = space_pairs(result, punctuation, not_number, Spaces::around_first);
  return space_around(result, symbol);
}

}  // namespace

std::vector<std::u32string> bleu_tokens(std::string_view line, BleuTokenizer tokenizer, bool lower) {
  std::u32string text = code_points(line);
  if (lower) text = lowercase(text);
  text = strip_right(text);
  switch (tokenizer) {
    case BleuTokenizer::v13a:
      return split_words(tokenize_13a(std::move(text)));
    case BleuTokenizer::intl:
      return split_words(tokenize_intl(text));
    case BleuTokenizer::character:
      return split_words(space_around(text, [](char32_t) { return true; }));
    case BleuTokenizer::none:
      return split_words(text);
  }
  throw Error("[bleu] unknown tokenizer number ", int(tokenizer));
}

namespace {

constexpr size_t kOrders = 4;

using TokenIds = std::vector<int32_t>;
using Ngram = std::array<int32_t, kOrders>;  // token ids; entries beyond the order are -1

struct NgramHash {
  size_t operator()(const Ngram& ngram) const {
    uint64_t hash = 0;
    for (const int32_t id : ngram) hash = (hash ^ uint32_t(id)) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 32);
  }
};

using TokenNgrams = std::unordered_map<Ngram, int64_t, NgramHash>;

// Assigns ids to the distinct tokens of a corpus, so that n-grams are compared as integers.
class TokenNumbers {
 public:
  TokenIds operator()(const std::vector<std::u32string>& tokens) {
    TokenIds ids;
    ids.reserve(tokens.size());
    for (const auto& token : tokens) ids.push_back(numbers_.try_emplace(token, int32_t(numbers_.size())).first->second);
    return ids;
  }

 private:
  std::unordered_map<std::u32string, int32_t> numbers_;
};

TokenNgrams count_ngrams(const TokenIds& ids) {
  TokenNgrams counts;
  for (size_t begin = 0; begin < ids.size(); ++begin) {
    Ngram ngram{-1, -1, -1, -1};
    for (size_t n = 0; n < kOrders && begin + n < ids.size(); ++n) {
      ngram[n] = ids[begin + n];
      ++counts[ngram];
    }
  }
  return counts;
}

size_t order_of(const Ngram& ngram) { return size_t(std::find(ngram.begin(), ngram.end(), -1) - ngram.begin()); }

// Statistics of a sentence's references: the maximum count of each n-gram in any of them, and the length closest to the
// hypothesis (the shorter one in a tie).
struct References {
  TokenNgrams counts;
  int64_t closest_length = -1;
};

References merge_references(const std::vector<TokenIds>& references, int64_t hypothesis_length) {
  References merged;
  for (const TokenIds& reference : references) {
    for (const auto& [ngram, count] : count_ngrams(reference)) {
      int64_t& largest = merged.counts[ngram];
      largest = std::max(largest, count);
    }
    const auto rank = [&](int64_t length) { return std::pair(std::abs(hypothesis_length - length), length); };
    const auto length = int64_t(reference.size());
    if (merged.closest_length < 0 || rank(length) < rank(merged.closest_length)) merged.closest_length = length;
  }
  return merged;
}

constexpr size_t kMatches = 2, kTotals = kMatches + kOrders, kWidth = kTotals + kOrders;  // see bleu_statistics()

std::array<int64_t, kWidth> sentence_statistics(const TokenIds& hypothesis, const std::vector<TokenIds>& references) {
  const References merged = merge_references(references, int64_t(hypothesis.size()));
  std::array<int64_t, kWidth> counts{int64_t(hypothesis.size()), merged.closest_length};
  for (const auto& [ngram, count] : count_ngrams(hypothesis)) {
    const size_t n = order_of(ngram) - 1;
    counts[kTotals + n] += count;
    const auto found = merged.counts.find(ngram);
    if (found != merged.counts.end()) counts[kMatches + n] += std::min(count, found->second);
  }
  return counts;
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
}

double brevity_penalty(int64_t hypothesis_length, int64_t reference_length) {
  if (hypothesis_length >= reference_length) return 1;
  return hypothesis_length == 0 ? 0 : std::exp(1 - double(reference_length) / double(hypothesis_length));
}

void compute_score(BleuScore& result, const BleuOptions& options) {
  result.brevity_penalty = brevity_penalty(result.hypothesis_length, result.reference_length);
  // Without any match there is nothing to smooth.
  if (result.matches == std::array<int64_t, kOrders>{}) return;
  double missing = 1, log_sum = 0;
  for (size_t n = 0; n < kOrders; ++n) {
    const double added = options.smoothing == BleuSmoothing::add_k && n > 0 ? smoothing_value(options) : 0;
    double matches = double(result.matches[n]) + added;
    const double total = double(result.totals[n]) + added;
    if (total == 0) return;  // no hypothesis has this length: precision and score stay 0
    if (matches == 0 && options.smoothing == BleuSmoothing::exp) matches = 1 / (missing *= 2);
    if (matches == 0 && options.smoothing == BleuSmoothing::floor) matches = smoothing_value(options);
    result.precisions[n] = 100 * matches / total;
    log_sum += std::log(result.precisions[n]);  // a precision of 0 gives -infinity, and a score of 0
  }
  result.score = result.brevity_penalty * std::exp(log_sum / kOrders);
}

}  // namespace

SentenceStatistics bleu_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                   const LineTokenizer& tokenize) {
  require_parallel("bleu", hypotheses, references);
  TokenNumbers numbers;
  SentenceStatistics statistics(kWidth);
  std::vector<TokenIds> sentence_references(references.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    for (size_t k = 0; k < references.size(); ++k) sentence_references[k] = numbers(tokenize(references[k][i]));
    statistics.add(sentence_statistics(numbers(tokenize(hypotheses[i])), sentence_references));
  }
  return statistics;
}

BleuScore bleu_score(std::span<const int64_t> sums, const BleuOptions& options) {
  BleuScore result;
  result.hypothesis_length = sums[0];
  result.reference_length = sums[1];
  for (size_t n = 0; n < kOrders; ++n) {
    result.matches[n] = sums[kMatches + n];
    result.totals[n] = sums[kTotals + n];
  }
  compute_score(result, options);
  return result;
}

std::string bleu_signature(size_t references, const BleuOptions& options) {
  std::string smoothing(enum_name(options.smoothing));
  if (options.smoothing == BleuSmoothing::floor || options.smoothing == BleuSmoothing::add_k)
    smoothing += fmt::format("[{:.2f}]", smoothing_value(options));
  return fmt::format("nrefs:{}|case:{}|eff:no|tok:{}|smooth:{}|impl:gyre", references,
                     options.lowercase ? "lc" : "mixed", enum_name(options.tokenizer), smoothing);
}

BleuScore corpus_bleu(const Lines& hypotheses, const std::vector<Lines>& references, const BleuOptions& options) {
  const auto tokenize = [&](const std::string& line) {
    return bleu_tokens(line, options.tokenizer, options.lowercase);
  };
  BleuScore result = bleu_score(bleu_statistics(hypotheses, references, tokenize).sum(), options);
  result.signature = bleu_signature(references.size(), options);
  return result;
}

std::string format_details(const BleuScore& s) {
  const double ratio = s.reference_length == 0 ? 0 : double(s.hypothesis_length) / double(s.reference_length);
  return fmt::format("{:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     s.precisions[0], s.precisions[1], s.precisions[2], s.precisions[3], s.brevity_penalty, ratio,
                     s.hypothesis_length, s.reference_length);
}

std::string format_line(const BleuScore& score) {
  return fmt::format("BLEU|{} = {:.2f} {}", score.signature, score.score, format_details(score));
}

namespace {

constexpr std::u32string_view kSpaces = U" \t\n\v\f\r";  // white space of perl in text without an encoding

bool is_ascii_space(char c) { return kSpaces.find(char32_t(uint8_t(c))) != std::u32string_view::npos; }

std::vector<std::u32string> words(const std::string& line, bool lowercase) {
  std::u32string text = code_points(line);
  for (char32_t& c : text) {
    if (lowercase && c >= U'A' && c <= U'Z') c += U'a' - U'A';
  }
  std::vector<std::u32string> result;
  size_t begin = 0;
  while ((begin = text.find_first_not_of(kSpaces, begin)) != std::u32string::npos) {
    const size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

void refuse_split_hyphens(const std::string& side, const Lines& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const auto& word : words(lines[i], false)) {
      require(word != U"@-@", "[compound-split] ", side, ", line ", i + 1,
              ": expected text whose hyphens are not split, got the token @-@ of tokenizer.perl -a; use the protocol "
              "multi-bleu, or detokenize the text");
    }
  }
}

// Brings lines into the form whose words are counted.
Lines prepare(const std::string& side, Lines lines, const MosesBleuOptions& options) {
  if (options.split_compounds) refuse_split_hyphens(side, lines);
  std::optional<MosesTokenizer> tokenizer;
  if (!options.tokenized) tokenizer.emplace(options.language);
  for (std::string& line : lines) {
    if (tokenizer) line = tokenizer->tokenize(options.split_compounds ? ascii_quotes(line) : line);
    if (options.split_compounds) line = split_compounds(line);
  }
  return lines;
}

}  // namespace

std::string split_compounds(std::string_view line) {
  std::string result;
  for (size_t i = 0; i < line.size(); ++i) {
    result += line[i];
    if (i + 2 >= line.size() || line[i + 1] != '-' || is_ascii_space(line[i]) || is_ascii_space(line[i + 2])) continue;
    result += " ##AT##-##AT## ";
    result += line[i += 2];
  }
  return result;
}

std::string ascii_quotes(std::string_view line) {
  std::u32string text = code_points(line);
  for (char32_t& c : text) {
    if (std::u32string_view(U"„“”‟«»").find(c) != std::u32string_view::npos) c = U'"';
    if (std::u32string_view(U"‚‘’‛‹›").find(c) != std::u32string_view::npos) c = U'\'';
  }
  return to_utf8(text);
}

SentenceStatistics moses_bleu_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                         const MosesBleuOptions& options) {
  std::vector<Lines> prepared;
  for (size_t k = 0; k < references.size(); ++k) {
    prepared.push_back(prepare(concat("reference ", k + 1), references[k], options));
  }
  return bleu_statistics(prepare("hypotheses", hypotheses, options), prepared,
                         [&](const std::string& line) { return words(line, options.lowercase); });
}

BleuOptions moses_bleu_scoring() {
  BleuOptions options;
  options.smoothing = BleuSmoothing::none;
  return options;
}

std::string moses_bleu_signature(size_t references, const MosesBleuOptions& options) {
  std::string split;
  if (options.split_compounds) split = options.tokenized ? "|quotes:asis|split:atat" : "|quotes:ascii|split:atat";
  return fmt::format("nrefs:{}|case:{}|eff:no|tok:{}{}|smooth:none|impl:gyre", references,
                     options.lowercase ? "lc-ascii" : "mixed",
                     options.tokenized ? "asis" : concat("moses-", enum_name(options.language)), split);
}

BleuScore corpus_moses_bleu(const Lines& hypotheses, const std::vector<Lines>& references,
                            const MosesBleuOptions& options) {
  BleuScore result = bleu_score(moses_bleu_statistics(hypotheses, references, options).sum(), moses_bleu_scoring());
  result.signature = moses_bleu_signature(references.size(), options);
  return result;
}

}  // namespace gyre
