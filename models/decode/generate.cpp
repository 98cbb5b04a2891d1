#include "gyre/models/decode/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "gyre/core/option_checks.h"
#include "gyre/models/decode/beam_search.h"
#include "gyre/models/decode/sampling.h"

namespace gyre {

void GenerationOptions::validate() const {
  expect(temperature == 0 || (temperature >= 0.001 && temperature <= 1000), "--temperature",
         "0 or a number between 0.001 and 1000", temperature);
  expect_at_least(0, "--top-k", top_k);
  expect(top_p > 0 && top_p <= 1, "--top-p", "a number above 0 and at most 1", top_p);
  expect(min_p >= 0 && min_p <= 1, "--min-p", "a number between 0 and 1", min_p);
  expect_between(0.001, 1000.0, "--repetition-penalty", repetition_penalty);
}

namespace {

// The logits with those of earlier tokens divided by the penalty, or multiplied if they are negative, and without the
// suppressed tokens.
std::vector<float> penalized(std::span<const float> logits, std::span<const int32_t> text,
                             const GenerationOptions& options) {
  std::vector<float> result(logits.begin(), logits.end());
  if (options.repetition_penalty != 1) {
    const auto penalty = float(options.repetition_penalty);
    for (const int32_t id : text) {
      const float logit = logits[size_t(id)];
      result[size_t(id)] = logit > 0 ? logit / penalty : logit * penalty;
    }
  }
  for (const int32_t id : options.suppressed) result[size_t(id)] = -std::numeric_limits<float>::infinity();
  return result;
}

std::vector<float> softmax(std::span<const float> logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<float> probabilities(logits.size());
  double sum = 0;
  for (const float logit : logits) sum += std::exp((double(logit) - largest) / temperature);
  for (size_t i = 0; i < logits.size(); ++i)
    probabilities[i] = float(std::exp((double(logits[i]) - largest) / temperature) / sum);
  return probabilities;
}

double log_probability(std::span<const float> logits, int32_t id) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double(logit) - largest);
  return double(logits[size_t(id)]) - largest - std::log(sum);
}

}  // namespace

std::shared_ptr<PackedWeights> packed_for_continuing(const std::shared_ptr<PackedWeights>& packed, Kernels& kernels,
                                                     Precision precision) {
  if (precision != Precision::int8) return nullptr;
  return packed ? packed : packed_weights_for(kernels, precision);
}

TokenCache token_cache_for(const EncoderOnly& model, const std::vector<Prompt>& prompts) {
  const std::string reason = model.continuing_obstacle();
  require(reason.empty(), "[generate] this model cannot continue texts: ", reason);
  std::vector<TokenCache::Place> places;
  for (const Prompt& prompt : prompts) {
    const auto length = int64_t(prompt.ids.size());
    require(length >= 1 && prompt.max_tokens >= 1,
            "[generate] expected a prompt of at least one token and a continuation of at least one, got ", length,
            " and ", prompt.max_tokens);
    require(length <= model.longest(), "[generate] expected a prompt of at most ", model.longest(),
            " tokens, the positions of the model, got ", length);
    // The last token of the continuation is not read.
    const int64_t tokens = std::min<int64_t>(length + prompt.max_tokens - 1, model.longest());
    places.push_back({int32_t(tokens), int32_t(length)});
  }
  const AttentionConfig& attention = model.config().attention;
  // Position terms that depend on more than distances are indexed from the first token, which must not be dropped.
  const bool needs_all =
      !model.positions().is_relative() && position_encoding_type(model.config().position.encoding).adds_to_scores;
  const bool drops = attention.kind == AttentionKind::window && !needs_all;
  return {int(model.config().layers), places, drops ? attention.window : 0};
}

int32_t choose_token(std::span<const float> logits, std::span<const int32_t> text, const GenerationOptions& options,
                     uint64_t stream, uint32_t step) {
  require(std::none_of(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); }),
          "[generate] expected logits, got NaN after ", step, " tokens");
  const std::vector<float> changed = penalized(logits, text, options);
  if (options.temperature == 0) return int32_t(std::max_element(changed.begin(), changed.end()) - changed.begin());
  const std::vector<float> probabilities = softmax(changed, options.temperature);
  std::vector<int32_t> tokens = tokens_to_draw(probabilities, options.top_k, options.top_p);
  if (options.min_p > 0) {
    const auto least = options.min_p * double(*std::max_element(probabilities.begin(), probabilities.end()));
    std::erase_if(tokens, [&](int32_t id) { return double(probabilities[size_t(id)]) < least; });
  }
  return draw_token(probabilities, tokens, options.seed, stream, step);
}

Generation::Generation(const EncoderOnly& model, Kernels& kernels, std::vector<Prompt> prompts,
                       const GenerationOptions& options)
    : model_(model),
      prompts_(std::move(prompts)),
      options_(options),
      texts_(prompts_.size()),
      cache_(token_cache_for(model, prompts_)),
      packed_(packed_for_continuing(options.packed, kernels, options.precision)),
      tape_(kernels, {.record = false,
                      .precision = options.precision,
                      .parameters = &model.parameters(),
                      .packed = packed_.get()}) {
  options_.validate();
}

bool Generation::done() const {
  return std::none_of(texts_.begin(), texts_.end(), [](const Text& text) { return text.end == End::live; });
}

// The logits of the next token of each live text, f32 on the CPU. Reads the prompts at first, then the last token.
Tensor Generation::next_logits() {
  std::vector<int32_t> ids, lengths, last_rows;
  for (size_t i = 0; i < texts_.size(); ++i) {
    const size_t before = ids.size();
    if (texts_[i].end == End::live && texts_[i].ids.empty()) {
      ids.insert(ids.end(), prompts_[i].ids.begin(), prompts_[i].ids.end());
    } else if (texts_[i].end == End::live) {
      ids.push_back(texts_[i].ids.back());
    }
    lengths.push_back(int32_t(ids.size() - before));
    if (texts_[i].end == End::live) last_rows.push_back(int32_t(ids.size()) - 1);
  }
  const Tensor all = Tensor::from({int64_t(ids.size())}, ids);
  const Var states = model_.advance(tape_, all, Segments::from_lengths(lengths), cache_);
  const Var last = gather_rows(states, Tensor::from({int64_t(last_rows.size())}, last_rows));
  return model_.logits(last).value().to_cpu().to(DType::f32);
}

void Generation::step() {
  const Tensor logits = next_logits();
  const auto vocab = size_t(logits.cols());
  size_t row = 0;
  for (size_t i = 0; i < texts_.size(); ++i) {
    Text& text = texts_[i];
    if (text.end != End::live) continue;
    const auto own = logits.span<float>().subspan(row++ * vocab, vocab);
    std::vector<int32_t> all = prompts_[i].ids;
    all.insert(all.end(), text.ids.begin(), text.ids.end());
    const int32_t id = choose_token(own, all, options_, prompts_[i].stream, uint32_t(text.ids.size()));
    if (id == options_.eos || std::ranges::count(options_.ends, id) > 0) {
      text.end = End::eos;
      continue;
    }
    text.ids.push_back(id);
    text.log_probs.push_back(float(log_probability(own, id)));
    const bool no_position = int64_t(all.size()) >= model_.longest();
    if (int(text.ids.size()) >= prompts_[i].max_tokens || no_position) text.end = End::length;
  }
}

double Generation::weight_bytes() const {
  const EncoderOnlyConfig& c = model_.config();
  const int64_t looked_up = c.tied_output ? 0 : c.vocab_size * c.embedding_width();
  const Precision precision = options_.precision;
  const int64_t bytes = precision == Precision::int8 ? 1 : precision == Precision::bf16 ? 2 : 4;
  return double((model_.parameters().elements() - looked_up) * bytes);
}

void Generation::stop(size_t text) { texts_[text].end = End::stopped; }

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
