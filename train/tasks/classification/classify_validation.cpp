#include "gyre/train/tasks/classification/classify_validation.h"

#include "gyre/train/log/stopwatch.h"

namespace gyre {

ClassifyValidation::ClassifyValidation(LabeledIds rows, const SequenceClassifier& model, const JobContext& context,
                                       const ValidationOptions& options)
    : rows_(std::move(rows)),
      model_(model),
      kernels_(context.kernels),
      ranks_(context.ranks),
      mini_batch_(options.mini_batch),
      precision_(context.precision),
      metrics_(options.metrics) {}

ValidationResult ClassifyValidation::run() {
  const Stopwatch watch;
  const Predictions predictions = predict(model_, rows_, mini_batch_, precision_, kernels_, ranks_);
  const std::string loss = loss_name(model_.config());
  ValidationResult result;
  for (const std::string& metric : metrics_) result.metrics[metric] = score(metric, predictions, rows_);
  result.loss = result.metrics[loss] = score(loss, predictions, rows_);
  result.seconds = watch.seconds();
  return result;
}

}  // namespace gyre
