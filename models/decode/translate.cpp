#include "gyre/models/decode/translate.h"

#include <algorithm>
#include <numeric>

namespace gyre {

std::vector<std::vector<size_t>> batches_by_length(const std::vector<int64_t>& lengths,
                                                   const DecodingBatchLimits& limits) {
  require(limits.sentences >= 1 && limits.tokens >= 1,
          "[translate] expected a batch of at least 1 sentence and 1 token, got ", limits.sentences, " sentences and ",
          limits.tokens, " tokens");
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });

  std::vector<std::vector<size_t>> batches;
  int64_t tokens = 0;
  for (size_t i : order) {
    const bool full =
        batches.empty() || int(batches.back().size()) == limits.sentences || tokens + lengths[i] > limits.tokens;
    if (full) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += lengths[i];
  }
  return batches;
}

namespace {

// Calls decode(sources, indices) for each batch, and returns the results in the order of the sources.
template <class Decode>
std::vector<std::vector<Hypothesis>> in_batches(const std::vector<std::vector<int32_t>>& sources,
                                                const DecodingBatchLimits& limits,
                                                const std::function<void(size_t done)>& progress,
                                                const Decode& decode) {
  std::vector<int64_t> lengths;
  for (const auto& source : sources) lengths.push_back(int64_t(source.size()));
  std::vector<std::vector<Hypothesis>> results(sources.size());
  size_t done = 0;
  for (const std::vector<size_t>& batch : batches_by_length(lengths, limits)) {
    std::vector<std::vector<int32_t>> batch_sources;
    for (size_t i : batch) batch_sources.push_back(sources[i]);
    auto batch_results = decode(batch_sources, batch);
    for (size_t i = 0; i < batch.size(); ++i) results[batch[i]] = std::move(batch_results[i]);
    done += batch.size();
    if (progress) progress(done);
  }
  return results;
}

}  // namespace

std::vector<std::vector<Hypothesis>> translate(const Ensemble& ensemble, Kernels& kernels,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const DecodeOptions& options, const DecodingBatchLimits& limits,
                                               const std::function<void(size_t done)>& progress, double* flops) {
  return in_batches(sources, limits, progress, [&](const auto& batch, const auto& /*indices*/) {
    return beam_search(ensemble, kernels, batch, options, flops);
  });
}

std::vector<std::vector<Hypothesis>> sample_translations(const Ensemble& ensemble, Kernels& kernels,
                                                         const std::vector<std::vector<int32_t>>& sources,
                                                         const std::vector<uint64_t>& lines,
                                                         const DecodeOptions& options, const SamplingOptions& sampling,
                                                         const DecodingBatchLimits& limits) {
  return in_batches(sources, limits, {}, [&](const auto& batch, const std::vector<size_t>& indices) {
    std::vector<uint64_t> batch_lines;
    for (const size_t i : indices) batch_lines.push_back(lines[i]);
    return sample(ensemble, kernels, batch, batch_lines, options, sampling);
  });
}

}  // namespace gyre
