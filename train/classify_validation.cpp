#include "train/classify_validation.h"

#include "train/stopwatch.h"

namespace gyre {

ClassifyValidation::ClassifyValidation(LabelledIds rows, const SequenceClassifier& model, Kernels& kernels,
                                       Communicator& ranks, const ClassifyOptions& options)
    : rows_(std::move(rows)),
      model_(model),
      kernels_(kernels),
      ranks_(ranks),
      mini_batch_(options.valid_mini_batch),
      precision_(parse_precision(options.precision, kernels)),
      metrics_(options.valid_metrics) {}

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
