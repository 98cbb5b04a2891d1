// Learning rates and weight decay by parameter: by name patterns, and by layer (layer-wise learning rate decay).
#pragma once

#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/train/optim/optimizer_options.h"

namespace gyre {

// Parameters with the same rates.
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

}  // namespace gyre
