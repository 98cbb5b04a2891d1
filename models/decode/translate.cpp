#include "gyre/models/decode/translate.h"

#include <algorithm>
#include <numeric>

namespace gyre {

std::vector<std::vector<size_t>> batches_by_length(const std::vector<int64_t>& lengths,
                                                   const TranslateBatches& limits) {
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

std::vector<std::vector<Hypothesis>> translate(const EncoderDecoder& model, Kernels& kernels,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const DecodeOptions& options, const TranslateBatches& limits,
                                               const std::function<void(size_t done)>& progress, double* flops) {
  std::vector<int64_t> lengths;
  for (const auto& source : sources) lengths.push_back(int64_t(source.size()));
  std::vector<std::vector<Hypothesis>> results(sources.size());
  size_t done = 0;
  for (const std::vector<size_t>& batch : batches_by_length(lengths, limits)) {
    std::vector<std::vector<int32_t>> batch_sources;
    for (size_t i : batch) batch_sources.push_back(sources[i]);
    auto batch_results = beam_search(model, kernels, batch_sources, options, flops);
    for (size_t i = 0; i < batch.size(); ++i) results[batch[i]] = std::move(batch_results[i]);
    done += batch.size();
    if (progress) progress(done);
  }
  return results;
}

}  // namespace gyre
