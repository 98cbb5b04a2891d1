#include "gyre/train/tasks/matching/match_validation.h"

#include <utility>

#include "gyre/train/log/stopwatch.h"

namespace gyre {

MatchValidation::MatchValidation(LabeledIds pairs, const SequenceClassifier& model, const JobContext& context,
                                 const MatchObjective& objective, const ValidationOptions& options)
    : pairs_(std::move(pairs)), model_(model), context_(context), objective_(objective), options_(options) {}

ValidationResult MatchValidation::run() {
  const Stopwatch watch;
  const Predictions predictions =
      predict(model_, pairs_, options_.mini_batch, context_.precision, context_.kernels, context_.ranks);
  ValidationResult result;
  for (const std::string& metric : options_.metrics)
    result.metrics[metric] = match_score(metric, predictions, objective_);
  result.loss = result.metrics[objective_.loss] = match_score(objective_.loss, predictions, objective_);
  result.seconds = watch.seconds();
  return result;
}

}  // namespace gyre
