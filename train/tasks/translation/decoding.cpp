#include "gyre/train/tasks/translation/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/models/decode/given_tokens.h"
#include "gyre/train/tasks/inputs.h"

namespace gyre {

namespace {

// log P of the target outputs, (target tokens). Computes the logits in parts of at most 64 MiB.
std::vector<float> log_probabilities(const EncoderDecoder& model, Kernels& kernels, const PairInput& pairs,
                                     Precision precision, PackedWeights* packed) {
  Tape tape(kernels, {.record = false, .precision = precision, .packed = packed});
  const Var encoded = model.encode(tape, pairs.source_ids, pairs.source);
  const Tensor states = model.decode(tape, encoded, pairs.source, pairs.target_inputs, pairs.target).value();
  const int64_t vocab = model.config().output_size(), tokens = states.dim(0);
  const int64_t part = std::clamp<int64_t>((int64_t{1} << 24) / vocab, 1, tokens);
  const Tensor buffer = Tensor::empty({part, vocab}, DType::f32, kernels.device());
  std::vector<float> result;
  for (int64_t begin = 0; begin < tokens; begin += part) {
    const int64_t count = std::min(part, tokens - begin);
    const Tensor log_probs = buffer.slice(0, count);
    model.log_probabilities(log_probs, tape.constant(states.slice(begin, begin + count)));
    const auto outputs = pairs.target_outputs.span<int32_t>().subspan(size_t(begin), size_t(count));
    const std::vector<float> chosen = log_probs_of(kernels, log_probs, outputs);
    result.insert(result.end(), chosen.begin(), chosen.end());
  }
  return result;
}

// The mean over the models of the ensemble: log_probs[model][token].
std::vector<float> mean(const Ensemble& ensemble, const std::vector<std::vector<float>>& log_probs) {
  if (ensemble.size() == 1) return log_probs.front();
  std::vector<float> result;
  for (size_t t = 0; t < log_probs.front().size(); ++t) {
    double largest = -std::numeric_limits<double>::infinity(), mean_log = 0, sum = 0;
    for (size_t i = 0; i < ensemble.size(); ++i) {
      largest = std::max(largest, double(log_probs[i][t]));
      mean_log += ensemble.weight(i) * double(log_probs[i][t]);
    }
    for (size_t i = 0; i < ensemble.size(); ++i)
      sum += ensemble.weight(i) * std::exp(double(log_probs[i][t]) - largest);
    result.push_back(float(ensemble.mean() == EnsembleMean::probabilities ? largest + std::log(sum) : mean_log));
  }
  return result;
}

void check(const Ensemble& ensemble, const std::vector<std::vector<int32_t>>& sources,
           const std::vector<std::vector<int32_t>>& targets) {
  require(sources.size() == targets.size(), "[score] expected a target for each of ", sources.size(), " sources, got ",
          targets.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const size_t tokens = std::max(sources[i].size(), targets[i].size()) + 1;
    require(int64_t(tokens) <= ensemble.longest(), "[score] pair ", i, ": expected at most ", ensemble.longest(),
            " tokens with EOS, got ", tokens);
  }
}

}  // namespace

std::vector<Hypothesis> score_targets(const Ensemble& ensemble, Kernels& kernels,
                                      const std::vector<std::vector<int32_t>>& sources,
                                      const std::vector<std::vector<int32_t>>& targets, const DecodeOptions& options,
                                      const DecodingBatchLimits& limits,
                                      const std::function<void(size_t done)>& progress) {
  options.validate(ensemble.vocab_size());
  check(ensemble, sources, targets);
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < sources.size(); ++i) lengths.push_back(int64_t(sources[i].size() + targets[i].size() + 2));
  std::vector<Hypothesis> results(sources.size());
  size_t done = 0;
  const auto packed = options.packed ? options.packed : packed_weights_for(kernels, options.precision);
  for (const std::vector<size_t>& batch : batches_by_length(lengths, limits)) {
    PairPacker packer(options.bos, options.eos);
    for (const size_t i : batch) packer.add(sources[i], targets[i]);
    const PairInput pairs = pair_input(packer.finish());
    std::vector<std::vector<float>> by_model;
    for (size_t m = 0; m < ensemble.size(); ++m)
      by_model.push_back(log_probabilities(ensemble[m], kernels, pairs, options.precision, packed.get()));
    const std::vector<float> tokens = mean(ensemble, by_model);
    auto next = tokens.begin();
    for (const size_t i : batch) {
      const auto end = next + int64_t(targets[i].size()) + 1;
      for (auto token = next; token != end; ++token)
        require(std::isfinite(*token), "[score] pair ", i, ": expected finite log-probabilities, got ", *token);
      results[i] = make_hypothesis(targets[i], {next, end}, options);
      next = end;
    }
    done += batch.size();
    if (progress) progress(done);
  }
  return results;
}

}  // namespace gyre
