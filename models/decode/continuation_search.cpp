#include "gyre/models/decode/continuation_search.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gyre/models/decode/beam.h"

namespace gyre {
namespace {

// The texts of the cache, as many as beams are wide: a hypothesis owns one of the places of its prompt.
std::vector<Prompt> places_of(const std::vector<Prompt>& prompts, int beam_size) {
  std::vector<Prompt> places;
  for (const Prompt& prompt : prompts) places.insert(places.end(), size_t(beam_size), prompt);
  return places;
}

class ContinuationSearch {
 public:
  ContinuationSearch(const EncoderOnly& model, Kernels& kernels, const std::vector<Prompt>& prompts,
                     const DecodeOptions& options, const ContinuationRules& rules)
      : model_(model),
        prompts_(prompts),
        options_(options),
        rules_(rules),
        cache_(token_cache_for(model, places_of(prompts, options.beam_size))),
        packed_(packed_for_continuing(options.packed, kernels, options.precision)),
        tape_(kernels, {.record = false,
                        .precision = options.precision,
                        .parameters = &model.parameters(),
                        .packed = packed_.get()}) {
    const int64_t never = int64_t(options.suppressed.size()) + 1;  // including BOS
    candidates_ = std::min(model.config().vocab_size, 2 * options.beam_size + never);
    for (size_t i = 0; i < prompts.size(); ++i) {
      const int64_t positions = model.longest() - int64_t(prompts[i].ids.size()) + 1;  // the last token is not read
      Beam::Ends ends;
      if (rules_.ends) ends = [this, i](std::span<const int32_t> ids) { return rules_.ends(i, ids); };
      beams_.emplace_back(options_, std::min<int64_t>(prompts[i].max_tokens, positions), int(i), std::move(ends));
      places_.push_back(int(i) * options.beam_size);
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<std::vector<int32_t>> next(size_t(cache_.texts()));  // tokens of each place
    for (size_t i = 0; i < prompts_.size(); ++i) next[i * size_t(options_.beam_size)] = prompts_[i].ids;
    while (std::any_of(beams_.begin(), beams_.end(), [](const Beam& b) { return !b.live().empty(); })) {
      const NextTokens best = best_tokens(next);
      for (Beam& beam : beams_)
        if (!beam.live().empty()) beam.advance(best);
      next = place_hypotheses();
    }
    std::vector<std::vector<Hypothesis>> results;
    for (const Beam& beam : beams_) results.push_back(beam.finished());
    return results;
  }

  double flops() const { return tape_.flops(); }

 private:
  // Reads the next tokens of all places, and returns the candidates of each hypothesis in its row.
  NextTokens best_tokens(const std::vector<std::vector<int32_t>>& next) {
    std::vector<int32_t> ids, lengths, ends;
    for (const std::vector<int32_t>& tokens : next) {
      ids.insert(ids.end(), tokens.begin(), tokens.end());
      lengths.push_back(int32_t(tokens.size()));
      ends.push_back(int32_t(ids.size()) - 1);
    }
    std::vector<int32_t> rows;  // the last row of each hypothesis
    for (const int place : places_) rows.push_back(ends[size_t(place)]);
    const Tensor all = Tensor::from({int64_t(ids.size())}, ids);
    const Var states = model_.advance(tape_, all, Segments::from_lengths(lengths), cache_);
    const Var last = gather_rows(states, Tensor::from({int64_t(rows.size())}, rows));
    Tensor log_probs = model_.logits(last).value();
    if (log_probs.dtype() != DType::f32) log_probs = log_probs.to_cpu().to(DType::f32).to(log_probs.device());
    tape_.kernels().log_softmax(log_probs, log_probs);
    if (rules_.repetition_penalty != 1) log_probs = penalized(log_probs);
    const auto count = int64_t(rows.size());
    NextTokens best{Tensor::empty({count, candidates_ + 1}), Tensor::empty({count, candidates_}, DType::i32)};
    tape_.kernels().topk(best.log_probs, best.ids, log_probs, options_.eos);
    return best;
  }

  // Multiplies the log-probabilities of each hypothesis's own tokens by the repetition penalty.
  Tensor penalized(const Tensor& log_probs) const {
    const Tensor result = log_probs.to_cpu();
    for (size_t i = 0; i < beams_.size(); ++i) {
      for (const LiveHypothesis& hypothesis : beams_[i].live()) {
        std::set<int32_t> tokens(prompts_[i].ids.begin(), prompts_[i].ids.end());
        tokens.insert(hypothesis.ids.begin(), hypothesis.ids.end());
        float* row = result.data<float>() + hypothesis.row * result.cols();
        for (const int32_t id : tokens) row[id] *= float(rules_.repetition_penalty);
      }
    }
    return result.to(log_probs.device());
  }

  // Gives each live hypothesis a place and a row of the next step, and returns the tokens of the places. The first one
  // that continues a hypothesis keeps its place; the others get a copy in places that nobody continues.
  std::vector<std::vector<int32_t>> place_hypotheses() {
    std::vector<std::vector<int32_t>> next(size_t(cache_.texts()));
    std::vector<int> places;
    for (size_t i = 0; i < beams_.size(); ++i) {
      const int first = int(i) * options_.beam_size;
      std::vector<bool> taken(size_t(options_.beam_size));
      std::vector<int> own(beams_[i].live().size(), -1);
      for (size_t h = 0; h < own.size(); ++h) {
        const int parent = places_[size_t(beams_[i].live()[h].row)];
        if (taken[size_t(parent - first)]) continue;
        taken[size_t(parent - first)] = true;
        own[h] = parent;
      }
      for (size_t h = 0; h < own.size(); ++h) {
        LiveHypothesis& hypothesis = beams_[i].live()[h];
        if (own[h] < 0) {
          const auto free = std::find(taken.begin(), taken.end(), false);
          *free = true;
          own[h] = first + int(free - taken.begin());
          cache_.copy(places_[size_t(hypothesis.row)], own[h]);
        }
        next[size_t(own[h])] = {hypothesis.ids.back()};
        hypothesis.row = int(places.size());
        places.push_back(own[h]);
      }
    }
    places_ = std::move(places);
    return next;
  }

  const EncoderOnly& model_;
  const std::vector<Prompt>& prompts_;
  DecodeOptions options_;
  const ContinuationRules& rules_;
  TokenCache cache_;
  std::shared_ptr<PackedWeights> packed_;  // null unless the precision is int8
  Tape tape_;
  int64_t candidates_ = 0;  // best next tokens that each hypothesis offers
  std::vector<Beam> beams_;
  std::vector<int> places_;  // place of the hypothesis in each row of a step
};

}  // namespace

std::vector<std::vector<Hypothesis>> search_continuations(const EncoderOnly& model, Kernels& kernels,
                                                          const std::vector<Prompt>& prompts, DecodeOptions options,
                                                          const ContinuationRules& rules, double* flops) {
  options.forces_eos = false;
  options.validate(model.config().vocab_size);
  if (prompts.empty()) return {};
  ContinuationSearch search(model, kernels, prompts, options, rules);
  auto results = search.run();
  if (flops) *flops += search.flops();
  return results;
}

}  // namespace gyre
