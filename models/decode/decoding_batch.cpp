#include "gyre/models/decode/decoding_batch.h"

#include <algorithm>
#include <cmath>

namespace gyre {
namespace {

// Replaces probabilities by their logarithms. The kernels round a probability below e^-87 to 0.
void take_logarithms(const Tensor& probabilities) {
  constexpr float kSmallest = 1e-38F;
  for (float& p : probabilities.span<float>()) p = std::log(std::max(p, kSmallest));
}

}  // namespace

DecodingBatch::DecodingBatch(const Ensemble& ensemble, Kernels& kernels,
                             const std::vector<std::vector<int32_t>>& sources, int most_rows,
                             const DecodeOptions& options)
    : ensemble_(ensemble),
      most_rows_(int64_t(sources.size()) * most_rows),
      packed_(options.packed ? options.packed : packed_weights_for(kernels, options.precision)),
      tape_(kernels, {.record = false, .precision = options.precision, .packed = packed_.get()}) {
  std::vector<int32_t> ids, lengths;
  for (size_t i = 0; i < sources.size(); ++i) {
    require(!sources[i].empty(), "[decoding] source ", i, " is empty, expected at least its EOS");
    ids.insert(ids.end(), sources[i].begin(), sources[i].end());
    lengths.push_back(int32_t(sources[i].size()));
  }
  const Segments segments = Segments::from_lengths(lengths);
  const Tensor source_ids = Tensor::from({int64_t(ids.size())}, ids);
  for (size_t i = 0; i < ensemble.size(); ++i) {
    const EncoderDecoder& model = ensemble[i];
    const Var encoded = model.encode(tape_, source_ids, segments);
    members_.push_back({model,
                        model.project_sources(encoded, segments),
                        KeyValueCache(int(model.config().decoder_layers), int(sources.size())),
                        {}});
  }
}

void DecodingBatch::step(const Tensor& ids, const Segments& by_source) {
  for (Member& m : members_) m.states = m.model.decode_step(tape_, ids, by_source, m.sources, m.cache);
}

bool DecodingBatch::averages_probabilities() const {
  return ensemble_.size() > 1 && ensemble_.mean() == EnsembleMean::probabilities;
}

// The mean of the models' probabilities or log-probabilities, on the kernels' device; for one model, its
// log-probabilities.
Tensor DecodingBatch::mean() {
  Kernels& kernels = tape_.kernels();
  for (Tensor* buffer : {&log_probs_, &term_, &sum_}) {
    if (!*buffer && (buffer == &log_probs_ || ensemble_.size() > 1))
      *buffer = Tensor::empty({most_rows_, ensemble_.vocab_size()}, DType::f32, kernels.device());
  }
  Tensor log_probs = log_probs_.slice(0, rows());
  if (members_.size() == 1) {
    members_.front().model.log_probabilities(log_probs, members_.front().states);
    return log_probs;
  }
  const Tensor term = term_.slice(0, rows());
  Tensor sum = sum_.slice(0, rows());
  for (size_t i = 0; i < members_.size(); ++i) {
    members_[i].model.log_probabilities(log_probs, members_[i].states);
    if (averages_probabilities()) kernels.softmax(term, log_probs);
    kernels.scale(i == 0 ? sum : term, averages_probabilities() ? term : log_probs, ensemble_.weight(i));
    if (i > 0) kernels.add(sum, sum, term);
  }
  return sum;
}

NextTokens DecodingBatch::best(int64_t k, int32_t eos) {
  NextTokens next{Tensor::empty({rows(), k + 1}), Tensor::empty({rows(), k}, DType::i32)};
  if (members_.size() == 1) {
    members_.front().model.best_tokens(next.log_probs, next.ids, members_.front().states, eos);
    return next;
  }
  tape_.kernels().topk(next.log_probs, next.ids, mean(), eos);
  if (averages_probabilities()) take_logarithms(next.log_probs);
  return next;
}

Tensor DecodingBatch::log_probabilities() {
  Tensor scores = mean().to_cpu();
  if (averages_probabilities()) take_logarithms(scores);
  return scores;
}

void DecodingBatch::gather(const std::vector<int>& parents) {
  for (Member& m : members_) m.cache.gather(parents);
}

}  // namespace gyre
