#include "gyre/models/decode/translate.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "gyre/core/parallel_for.h"

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

// The batches of the sources, at least one for each of `at_once` threads.
std::vector<std::vector<size_t>> decoding_batches(const std::vector<std::vector<int32_t>>& sources,
                                                  DecodingBatchLimits limits, int64_t at_once) {
  std::vector<int64_t> lengths;
  for (const auto& source : sources) lengths.push_back(int64_t(source.size()));
  const int64_t share = (int64_t(sources.size()) + at_once - 1) / at_once;
  if (share >= 1 && share < limits.sentences) limits.sentences = int(share);
  return batches_by_length(lengths, limits);
}

// Calls decode(sources, indices) for each batch, and returns the results in the order of the sources. If a CPU has no
// more threads than there are sources, each thread decodes batches of its own: none waits for others within a step.
template <class Decode>
std::vector<std::vector<Hypothesis>> in_batches(const std::vector<std::vector<int32_t>>& sources, Kernels& kernels,
                                                const DecodingBatchLimits& limits,
                                                const std::function<void(size_t done)>& progress,
                                                const Decode& decode) {
  const bool in_parallel = kernels.device() == Device{} && threads() > 1 && sources.size() >= size_t(threads());
  const std::vector<std::vector<size_t>> batches = decoding_batches(sources, limits, in_parallel ? threads() : 1);
  std::vector<std::vector<Hypothesis>> results(sources.size());
  std::mutex mutex;
  size_t done = 0;
  const auto run = [&](size_t number) {
    const std::vector<size_t>& batch = batches[number];
    std::vector<std::vector<int32_t>> batch_sources;
    for (size_t i : batch) batch_sources.push_back(sources[i]);
    auto batch_results = decode(batch_sources, batch);
    const std::lock_guard lock(mutex);
    for (size_t i = 0; i < batch.size(); ++i) results[batch[i]] = std::move(batch_results[i]);
    done += batch.size();
    if (progress) progress(done);
  };
  if (in_parallel) {
    parallel_for(batches.size(), 1, run);
  } else {
    for (size_t i = 0; i < batches.size(); ++i) run(i);
  }
  return results;
}

// The options with packed weights, which all batches share.
DecodeOptions with_packed_weights(const DecodeOptions& options, Kernels& kernels) {
  DecodeOptions result = options;
  if (!result.packed) result.packed = packed_weights_for(kernels, options.precision);
  return result;
}

}  // namespace

std::vector<std::vector<Hypothesis>> translate(const Ensemble& ensemble, Kernels& kernels,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const DecodeOptions& options, const DecodingBatchLimits& limits,
                                               const std::function<void(size_t done)>& progress, double* flops,
                                               const std::vector<std::vector<int32_t>>& prefixes) {
  const DecodeOptions shared = with_packed_weights(options, kernels);
  std::mutex mutex;
  return in_batches(sources, kernels, limits, progress, [&](const auto& batch, const std::vector<size_t>& indices) {
    double own_flops = 0;
    std::vector<std::vector<int32_t>> batch_prefixes;
    for (size_t i = 0; i < indices.size() && !prefixes.empty(); ++i) batch_prefixes.push_back(prefixes[indices[i]]);
    auto results = beam_search(ensemble, kernels, batch, shared, &own_flops, batch_prefixes);
    const std::lock_guard lock(mutex);
    if (flops) *flops += own_flops;
    return results;
  });
}

std::vector<std::vector<Hypothesis>> sample_translations(const Ensemble& ensemble, Kernels& kernels,
                                                         const std::vector<std::vector<int32_t>>& sources,
                                                         const std::vector<uint64_t>& lines,
                                                         const DecodeOptions& options, const SamplingOptions& sampling,
                                                         const DecodingBatchLimits& limits) {
  const DecodeOptions shared = with_packed_weights(options, kernels);
  return in_batches(sources, kernels, limits, {}, [&](const auto& batch, const std::vector<size_t>& indices) {
    std::vector<uint64_t> batch_lines;
    for (const size_t i : indices) batch_lines.push_back(lines[i]);
    return sample(ensemble, kernels, batch, batch_lines, shared, sampling);
  });
}

}  // namespace gyre
