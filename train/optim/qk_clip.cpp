#include "gyre/train/optim/qk_clip.h"

#include "gyre/core/error.h"

namespace gyre {

QkClip::QkClip(Parameters& parameters, Kernels& kernels, double limit, const OptimizerPartition& partition)
    : kernels_(kernels), limit_(limit), partition_(partition) {
  const int64_t ranks = partition.ranks(), rank = partition.rank();
  int64_t heads = 0;
  for (const Parameter& p : parameters) heads += p.trainable ? p.query_key_heads.queries : 0;
  if (heads == 0)
    throw UsageError(
        "[--qk-clip] expected a model that trains softmax self-attention without norms of queries and keys");
  largest_ = Tensor::zeros({ranks * heads}, DType::f64, kernels.device());
  int64_t begin = 0;
  for (Parameter& p : parameters) {
    const int64_t own = p.query_key_heads.queries;
    if (own == 0 || !p.trainable) continue;
    const Tensor largest = largest_.slice(begin, begin + ranks * own).reshape({ranks, own});
    begin += ranks * own;
    p.query_key_heads.largest_logits = largest.slice(rank, rank + 1).reshape({own});
    layers_.push_back({&p, largest});
  }
}

QkClip::~QkClip() {
  for (const Layer& layer : layers_) layer.weight->query_key_heads.largest_logits = {};
}

void QkClip::apply(const Tensor& verdict) const {
  if (partition_.ranks() > 1) partition_.sum(largest_);  // a rank has zeros in the rows of the others
  for (const Layer& layer : layers_) clip(layer, verdict);
  forget();
}

void QkClip::clip(const Layer& layer, const Tensor& verdict) const {
  const QueryKeyHeads& heads = layer.weight->query_key_heads;
  const ClippedHeads clipped{.heads = heads.queries, .key_heads = heads.keys, .width = heads.width, .limit = limit_};
  kernels_.clip_heads(layer.weight->value, layer.largest, verdict, clipped);
  if (heads.bias == nullptr || !heads.bias->trainable) return;
  const Tensor& bias = heads.bias->value;
  kernels_.clip_heads(bias.reshape({bias.size(), 1}), layer.largest, verdict, clipped);
}

}  // namespace gyre
