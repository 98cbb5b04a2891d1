// QK-clip, with Muon called MuonClip (Moonshot AI 2025, Kimi K2, arXiv 2507.20534, 2.1): where the logits of an
// attention head have become too large, the weights of its queries and keys are scaled down after the update.
#pragma once

#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre {

// Acts on all self-attention with softmax and without norms of queries and keys. The logits are scale * q . k, with
// rotated q and k; terms of relative positions do not count.
class QkClip {
 public:
  // Makes attention measure its largest logits (QueryKeyHeads::largest_logits) from now on. `limit`: positive, tau in
  // the paper. Frozen parameters are not scaled. Keeps references. Throws UsageError if the model has no such
  // attention.
  QkClip(Parameters& parameters, Kernels& kernels, double limit, const OptimizerPartition& partition);
  ~QkClip();
  QkClip(const QkClip&) = delete;
  QkClip& operator=(const QkClip&) = delete;

  // Collective if there are several ranks. Scales the rows of each head whose largest logit since the last call, on any
  // rank, exceeds the limit (Kernels::clip_heads), unless the verdict rejects the update. Needs all weights on every
  // rank; the results have the same bits there.
  void apply(const Tensor& verdict) const;
  // Forgets the logits since the last apply().
  void forget() const { largest_.zero(); }

 private:
  struct Layer {
    Parameter* weight;
    Tensor largest;  // (ranks, heads): of each rank its row, until apply() adds those of the others
  };
  void clip(const Layer& layer, const Tensor& verdict) const;

  Kernels& kernels_;
  double limit_;
  const OptimizerPartition& partition_;
  Tensor largest_;  // of all layers, f64; zero where nothing was measured
  std::vector<Layer> layers_;
};

}  // namespace gyre
