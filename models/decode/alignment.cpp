#include "gyre/models/decode/alignment.h"

#include <algorithm>

#include "gyre/core/error.h"

namespace gyre {
namespace {

Tensor tensor_of(const std::vector<int32_t>& ids) { return Tensor::from({int64_t(ids.size())}, ids); }

Segments one_segment(const std::vector<int32_t>& ids) { return Segments::from_lengths({int32_t(ids.size())}); }

// The weights of the cross-attention of a layer: (heads, inputs of the decoder, source tokens).
Tensor cross_weights(const EncoderDecoder& model, Kernels& kernels, const std::vector<int32_t>& source,
                     const std::vector<int32_t>& inputs, int layer) {
  Tape tape(kernels, {});
  const Segments sources = one_segment(source);
  const Var encoded = model.encode(tape, tensor_of(source), sources);
  const size_t decoder = tape.nodes().size();
  model.decode(tape, encoded, sources, tensor_of(inputs), one_segment(inputs));
  const std::vector<int> nodes = attention_nodes(tape, decoder);  // two per layer: self-attention and cross-attention
  const int layers = int(nodes.size() / 2);
  require(layer >= 0 && layer < layers, "[alignment] expected one of the ", layers,
          " decoder layers, counted from 0, got ", layer);
  return attention_weights(tape, nodes[2 * size_t(layer) + 1], 0);
}

}  // namespace

std::vector<AlignedTokens> align(const Ensemble& ensemble, Kernels& kernels, const std::vector<int32_t>& source,
                                 const std::vector<int32_t>& target, const DecodeOptions& options, int layer) {
  const int64_t queries = int64_t(target.size()), all = int64_t(source.size()), keys = all - 1;
  if (queries == 0 || keys <= 0) return {};
  std::vector<int32_t> inputs = target;
  inputs.insert(inputs.begin(), options.bos);
  inputs.pop_back();  // the last token is predicted from those before it
  std::vector<double> sums(size_t(queries * all));
  for (size_t i = 0; i < ensemble.size(); ++i) {
    const Tensor weights = cross_weights(ensemble[i], kernels, source, inputs, layer);
    const auto values = weights.span<float>();
    const double share = ensemble.weight(i) / double(weights.dim(0));
    for (size_t place = 0; place < values.size(); ++place) sums[place % sums.size()] += share * double(values[place]);
  }
  std::vector<AlignedTokens> pairs;
  for (int64_t t = 0; t < queries; ++t) {
    const auto row = sums.begin() + t * all;
    pairs.emplace_back(int32_t(std::max_element(row, row + keys) - row), int32_t(t));
  }
  return pairs;
}

}  // namespace gyre
