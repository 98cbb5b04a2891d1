// Translation models that decode together: the distribution of the next token is a mean of theirs.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/models/encoder_decoder.h"

namespace gyre {

// The mean of the distributions p_i, with weights w_i whose sum is 1.
// probabilities (fairseq): sum_i w_i p_i. log_probabilities (Marian): exp(sum_i w_i log p_i), which is not normalized.
enum class EnsembleMean : uint8_t { probabilities, log_probabilities };

template <>
inline constexpr std::pair<EnsembleMean, std::string_view> kEnumNames<EnsembleMean>[] = {
    {EnsembleMean::probabilities, "probabilities"}, {EnsembleMean::log_probabilities, "log-probabilities"}};

// Refers to the models, which must outlive it. They may differ in everything except the size of the vocabulary.
class Ensemble {
 public:
  // One model. Implicit, so that a model can be passed where an ensemble is expected.
  Ensemble(const EncoderDecoder& model) : models_{&model}, weights_{1} {}
  // `weights`: one positive number per model, scaled to a sum of 1; empty: equal weights. Throws Error for no model,
  // for vocabularies of different sizes, for another number of weights, for a weight that is not positive, and for
  // weights whose sum overflows.
  explicit Ensemble(std::vector<const EncoderDecoder*> models, std::vector<double> weights = {},
                    EnsembleMean mean = EnsembleMean::probabilities);

  size_t size() const { return models_.size(); }
  const EncoderDecoder& operator[](size_t i) const { return *models_[i]; }
  double weight(size_t i) const { return weights_[i]; }
  EnsembleMean mean() const { return mean_; }

  // The number of pieces of the targets.
  int64_t vocab_size() const { return models_.front()->config().output_size(); }
  // The maximum length of a source or target that all models support.
  int64_t longest() const;

 private:
  std::vector<const EncoderDecoder*> models_;
  std::vector<double> weights_;
  EnsembleMean mean_ = EnsembleMean::probabilities;
};

}  // namespace gyre
