// Beam search, batched over sentences, with key/value caches. Beam 1 is greedy search.
// At each step a sentence keeps the `beam_size` best unfinished hypotheses by log-probability, out of the best
// 2 * beam_size continuations; an end of sentence counts when it is among the best beam_size (fairseq's rule). Equal
// scores are ordered by hypothesis, then by lower id, so results are deterministic.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/encoder_decoder.h"

namespace gyre {

// The score that ranks finished hypotheses, a = length_penalty, |Y| the tokens with the EOS:
//   fairseq: log P / |Y|^a;   gnmt (Wu et al. 2016, eq. 14): log P / ((5 + |Y|) / 6)^a
enum class LengthPenaltyForm : uint8_t { fairseq, gnmt };

// When a sentence is done, apart from the length limit and from hypotheses that can no more be beaten:
// beam_finished (fairseq): once beam_size hypotheses have ended; exact: not before.
enum class StopRule : uint8_t { beam_finished, exact };

template <>
inline constexpr std::pair<LengthPenaltyForm, std::string_view> kEnumNames<LengthPenaltyForm>[] = {
    {LengthPenaltyForm::fairseq, "fairseq"}, {LengthPenaltyForm::gnmt, "gnmt"}};
template <>
inline constexpr std::pair<StopRule, std::string_view> kEnumNames<StopRule>[] = {
    {StopRule::beam_finished, "beam-finished"}, {StopRule::exact, "exact"}};

struct DecodeOptions {
  int beam_size = 4;
  double length_penalty = 0.6;
  LengthPenaltyForm form = LengthPenaltyForm::fairseq;
  StopRule stop = StopRule::beam_finished;
  // At most max_length_factor * source tokens (with EOS) + max_length_extra tokens, not counting EOS. The default is
  // that of Vaswani et al. 2017, 6.1: the source's length + 50. A table of positions may allow less.
  double max_length_factor = 1;
  int max_length_extra = 50;
  int n_best = 1;
  Precision precision = Precision::fp32;  // of activations and products; scores are fp32
  int32_t bos = 1, eos = 2;
  // Ids that are never produced (unknown, padding). BOS never is, unless it is the EOS too.
  std::vector<int32_t> suppressed = {};

  // Checks the options that users set. Throws a UsageError that names the option as `prefix` and its name.
  void validate_search(std::string_view prefix = "--") const;
  void validate(int64_t vocab_size) const;  // that, and the ids
  bool produces(int32_t id) const;
};

struct Hypothesis {
  std::vector<int32_t> ids;            // without EOS
  double score = 0;                    // with the length penalty
  double log_probability = 0;          // of ids and EOS
  std::vector<float> token_log_probs;  // of ids and EOS: one more than ids
};

// The divisor of log P; `tokens` counts EOS.
double length_divisor(LengthPenaltyForm form, double exponent, int64_t tokens);

// Per source (ids with EOS at the end) the n_best hypotheses, best first: at least one, fewer than n_best only where
// fewer ended. All sources are decoded at once: `translate` cuts many into batches. The work (Tape::flops) is added to
// *flops.
std::vector<std::vector<Hypothesis>> beam_search(const EncoderDecoder& model, Kernels& kernels,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 const DecodeOptions& options, double* flops = nullptr);

}  // namespace gyre
