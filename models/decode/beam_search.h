// Beam search with key/value caches, batched over sentences. A beam size of 1 is greedy search.
// At each step, a sentence keeps the `beam_size` unfinished hypotheses with the highest log-probability among the best
// 2 * beam_size continuations. A continuation with EOS finishes its hypothesis if it is among the best beam_size
// (fairseq's rule). Ties are ordered by hypothesis, then by lower id, so results are deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gyre/core/tensor.h"
#include "gyre/models/decode/ensemble.h"

namespace gyre {

// The best next tokens of each hypothesis, all rows of a step, on the CPU, as computed by Kernels::topk: ids (rows, k),
// and log-probabilities (rows, k + 1), with that of EOS in the last column.
struct NextTokens {
  Tensor log_probs, ids;
};

// The score of finished hypotheses, with a = length_penalty and |Y| the number of tokens including EOS:
//   fairseq: log P / |Y|^a;   gnmt (Wu et al. 2016, eq. 14): log P / ((5 + |Y|) / 6)^a
enum class LengthPenaltyForm : uint8_t { fairseq, gnmt };

// Rule that stops the search of a sentence. All stop at the length limit. The first two stop as soon as no live
// hypothesis can improve the n_best.
// beam_finished (fairseq): also stop once beam_size hypotheses have finished. exact: no further rule.
// present_length (Hugging Face's early_stopping=False): stop once beam_size hypotheses have finished and the best live
// one, scored as if it ended now, is no better than the worst of the best beam_size.
enum class StopRule : uint8_t { beam_finished, exact, present_length };

template <>
inline constexpr std::pair<LengthPenaltyForm, std::string_view> kEnumNames<LengthPenaltyForm>[] = {
    {LengthPenaltyForm::fairseq, "fairseq"}, {LengthPenaltyForm::gnmt, "gnmt"}};
template <>
inline constexpr std::pair<StopRule, std::string_view> kEnumNames<StopRule>[] = {
    {StopRule::beam_finished, "beam-finished"},
    {StopRule::exact, "exact"},
    {StopRule::present_length, "present-length"}};

struct DecodeOptions {
  int beam_size = 4;
  double length_penalty = 0.6;
  LengthPenaltyForm form = LengthPenaltyForm::fairseq;
  StopRule stop = StopRule::beam_finished;
  // Length limit of an output without EOS: max_length_factor * source tokens (with EOS) + max_length_extra. The default
  // is that of Vaswani et al. 2017, 6.1: source length + 50. A table of positions may allow less.
  double max_length_factor = 1;
  int max_length_extra = 50;
  int n_best = 1;
  // At the length limit, hypotheses get an EOS (of a translation), or they end without one (as a continuation does).
  bool forces_eos = true;
  Precision precision = Precision::fp32;  // precision of activations and products; scores are fp32
  int32_t bos = 1, eos = 2;
  // Ids that are never produced (unknown, padding). BOS is never produced either, unless it is also the EOS.
  std::vector<int32_t> suppressed = {};
  // The weights of the models for this precision, packed by earlier calls; null: a call packs what it needs.
  std::shared_ptr<PackedWeights> packed = nullptr;

  // Checks the options that users set. Throws a UsageError with the option's name after `prefix`.
  void validate_search(std::string_view prefix = "--") const;
  // Runs validate_search() and checks the ids. Throws an Error for an id outside the vocabulary.
  void validate(int64_t vocab_size) const;
  bool produces(int32_t id) const;
  // The length limit of an output without EOS. source_tokens includes EOS; longest: EncoderDecoder::longest().
  int64_t max_tokens(int64_t source_tokens, int64_t longest) const;
};

struct Hypothesis {
  std::vector<int32_t> ids;            // ids without EOS
  double score = 0;                    // log-probability with the length penalty
  double log_probability = 0;          // sum over ids and EOS
  std::vector<float> token_log_probs;  // values of ids and EOS: one element more than ids, if there is an EOS
};

// The divisor of log P in the score; `tokens` includes EOS.
double length_divisor(LengthPenaltyForm form, double exponent, int64_t tokens);

// Adds the log-probability, the sum of those of the tokens (ids and EOS), and the score.
Hypothesis make_hypothesis(std::vector<int32_t> ids, std::vector<float> token_log_probs, const DecodeOptions& options);

// Returns the n_best hypotheses of each source (ids that end with EOS), best first: at least one, and fewer than n_best
// only if fewer finished. prefixes: the ids with which the hypotheses of each source begin, whatever their
// probability, which counts; empty: no source has any. Decodes all sources in one batch; translate() splits many
// sources into batches. Adds the FLOPs (Tape::flops) to *flops. Throws for invalid options, for an empty source and for
// a prefix that leaves no room for EOS.
std::vector<std::vector<Hypothesis>> beam_search(const Ensemble& ensemble, Kernels& kernels,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 const DecodeOptions& options, double* flops = nullptr,
                                                 const std::vector<std::vector<int32_t>>& prefixes = {});

// A continuation of a sentence's hypothesis.
struct Candidate {
  double total;    // log-probability of the hypothesis including the token
  int hypothesis;  // rank of the hypothesis among the live ones
  int32_t token;
  float log_prob;  // log-probability of the token
};

// Keeps the `limit` best of the candidates offered, best first. Of equal candidates, earlier ones come first.
class BestCandidates {
 public:
  explicit BestCandidates(int limit) : limit_(size_t(limit)) {}

  void offer(const Candidate& candidate);

  const std::vector<Candidate>& best() const { return best_; }

 private:
  // A new candidate must be better than this.
  double threshold() const {
    return best_.size() < limit_ ? -std::numeric_limits<double>::infinity() : best_.back().total;
  }

  size_t limit_;
  std::vector<Candidate> best_;
};

// An unfinished hypothesis.
struct LiveHypothesis {
  std::vector<int32_t> ids;  // ids without BOS
  std::vector<float> token_log_probs;
  double log_probability = 0;
  int row = 0;  // row in the batch of the step
};

// The beam of one sentence: selects live and finished hypotheses at each step, and decides when the search is done.
class Beam {
 public:
  // Whether these tokens end a hypothesis, as EOS does.
  using Ends = std::function<bool(std::span<const int32_t> ids)>;

  // Starts with the empty hypothesis in `row`. Hypotheses have at most max_tokens tokens, and with
  // DecodeOptions::forces_eos an EOS after them.
  Beam(const DecodeOptions& options, int64_t max_tokens, int row, Ends ends = {});

  const std::vector<LiveHypothesis>& live() const { return live_; }  // best first; empty when done
  std::vector<LiveHypothesis>& live() { return live_; }

  // Advances every live hypothesis by one token; the candidates of a hypothesis are in its row. Suppressed ids are
  // skipped, so k must be at least 2 * beam_size plus their number, or the size of the vocabulary.
  void advance(const NextTokens& next);

  // Advances the only live hypothesis by this token, which need not be one of the best.
  void force(int32_t token, float log_prob);

  // At most n_best hypotheses, best first. Call when done.
  const std::vector<Hypothesis>& finished() const { return finished_; }

 private:
  std::vector<Candidate> choose(const NextTokens& next) const;
  bool ends(const LiveHypothesis& hypothesis, int32_t token) const;
  void finish(const LiveHypothesis& hypothesis, const Candidate& candidate);
  size_t kept() const;
  bool done() const;
  double best_possible_score() const;

  const DecodeOptions& options_;
  int64_t max_tokens_;
  Ends ends_;
  std::vector<LiveHypothesis> live_;
  std::vector<Hypothesis> finished_;
  int finished_count_ = 0;  // includes those that are no longer kept
};

}  // namespace gyre
