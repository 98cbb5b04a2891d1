#include "gyre/models/decode/ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gyre {

Ensemble::Ensemble(std::vector<const EncoderDecoder*> models, std::vector<double> weights, EnsembleMean mean)
    : models_(std::move(models)), weights_(std::move(weights)), mean_(mean) {
  require(!models_.empty(), "[ensemble] expected at least one model");
  for (const EncoderDecoder* model : models_) {
    require(model->config().output_size() == vocab_size(), "[ensemble] expected models of one vocabulary, got ",
            vocab_size(), " and ", model->config().output_size(), " pieces");
  }
  if (weights_.empty()) weights_.assign(models_.size(), 1);
  require(weights_.size() == models_.size(), "[ensemble] expected a weight for each of ", models_.size(),
          " models, got ", weights_.size());
  for (const double weight : weights_)
    require(std::isfinite(weight) && weight > 0, "[ensemble] expected positive weights, got ", weight);
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  require(std::isfinite(sum), "[ensemble] expected weights with a finite sum, got ", sum);
  for (double& weight : weights_) weight /= sum;
}

int64_t Ensemble::longest() const {
  int64_t longest = models_.front()->longest();
  for (const EncoderDecoder* model : models_) longest = std::min(longest, model->longest());
  return longest;
}

}  // namespace gyre
