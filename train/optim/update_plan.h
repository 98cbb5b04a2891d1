// Plan of an optimizer update on this rank: the learning rate and the weight decay of each parameter, the ranges of
// elements, and the whole matrices for rules such as Muon.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/optim/optimizer_options.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre {

// Parameters with the same rates, by name patterns and by layer (layer-wise learning rate decay).
struct ParameterGroup {
  double rate_factor = 1;   // factor of the learning rate
  double weight_decay = 0;  // decoupled
  bool operator==(const ParameterGroup&) const = default;
};

// The group of each parameter. Without a pattern that matches, the weight decay is --weight-decay, and 0 for norms and
// biases; the factor is 1. Layer-wise decay multiplies the factor by layer_decay^(L + 1 - l): l is 0 for embeddings, i
// for the i-th layer of L, and L + 1 for what follows them (Clark et al. 2020, ELECTRA). Throws UsageError if a pattern
// matches no parameter, and for layer-wise decay if the model has no layers or more than one stack of them.
std::vector<ParameterGroup> parameter_groups(const Parameters& parameters, const OptimizerOptions& options);

// Makes the parameters that match `patterns` untrainable. Throws UsageError if a pattern matches no parameter, and if
// no parameter is left to train.
void freeze(Parameters& parameters, const std::vector<std::string>& patterns);

// A matrix within the weight of a linear layer (Parameter::matrix_rows).
struct UpdateMatrix {
  int64_t begin = 0;      // first element in the arena of weights
  int64_t gradient = 0;   // first element in the tensor of gradients
  int64_t state = 0;      // first element in state that covers the matrices of this rank
  int64_t row_state = 0;  // first element in state that covers the rows of all matrices
  int64_t rows = 0, cols = 0;
  ParameterGroup group;

  int64_t elements() const { return rows * cols; }
  // The matrix within an arena, from its first element there.
  Tensor in(const Tensor& arena, int64_t first) const {
    return arena.slice(first, first + elements()).reshape({rows, cols});
  }
};

struct UpdatePlan {
  UpdateRanges elements;               // trainable, owned by this rank, and in none of the matrices of any rank
  std::vector<UpdateMatrix> matrices;  // matrices of this rank
  int64_t matrix_rows = 0;             // rows of the matrices of all ranks
};

// The parameters that rules for whole matrices update as matrices: the weights of linear layers inside the model.
inline bool is_updated_whole(const Parameter& p) { return p.trainable && !p.matrix_rows.empty(); }

// Throws Error if the model has too many elements for the 32-bit positions of an update.
void require_countable(const Parameters& parameters);

// Plans the updates of the elements that this rank owns. `whole`: update matrices as wholes; `partition` must then not
// divide any. The groups are copied to `device`.
UpdatePlan plan_update(const Parameters& parameters, const std::vector<ParameterGroup>& groups,
                       const OptimizerPartition& partition, bool whole, Device device);

// The ranges of the arenas that hold the parameters with is_updated_whole(), one each, or those without, with neighbors
// in one range.
std::vector<ElementRange> ranges_of_whole(const Parameters& parameters, bool whole);

// Divides the arenas into spans such that each parameter with is_updated_whole() is a span of its own, owned by one of
// the ranks. The parameter with the longest update comes first, and goes to the rank that has the least to do. An
// update of n by m elements takes max(n, m) min(n, m)^2 operations.
std::vector<ArenaSpan> spans_of_matrices(const Parameters& parameters, int ranks);

}  // namespace gyre
