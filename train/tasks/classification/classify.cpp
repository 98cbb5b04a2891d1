#include "gyre/train/tasks/classification/classify.h"

#include <string>
#include <vector>

#include "gyre/core/number_text.h"
#include "gyre/train/job.h"
#include "gyre/train/job_context.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/options.h"
#include "gyre/train/pretrained/trained_task.h"
#include "gyre/train/tasks/classification/classify_data.h"
#include "gyre/train/tasks/classification/scores.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/validation.h"

namespace gyre {
namespace {

// Validation of a classifier on labeled rows: the loss and the metrics in options.valid_metrics
// (train/tasks/classification/scores.h).
class ClassifyValidation final : public Validation {
 public:
  ClassifyValidation(LabeledIds rows, const SequenceClassifier& model, const JobContext& context,
                     const ValidationOptions& options);

  ValidationBasis basis() const override { return {{"valid-sets", hexadecimal(rows_.checksum())}}; }
  ValidationResult run() override;

 private:
  LabeledIds rows_;
  const SequenceClassifier& model_;
  Kernels& kernels_;
  Communicator& ranks_;
  size_t mini_batch_;
  Precision precision_;
  std::vector<std::string> metrics_;
};

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

TaskParts make_parts(const ClassifyOptions& options, InitialEncoder& initial, const JobContext& context) {
  TaskParts parts;
  const bool regression = options.format.is_regression();
  const SequenceClassifier& network =
      start_classifier(parts, options, initial, regression ? 1 : int64_t(options.format.classes.size()),
                       regression ? "mean-squared-error" : "cross-entropy", context);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  const auto loss = [&network](Tape& tape, const LabeledInput& input) { return network.loss(tape, input); };
  parts.data = std::make_unique<ClassifyData>(options, initial.config, vocabulary, loss, context.micro_batches);
  parts.task = TrainedTask{options.format, options.validation.metrics, options.data.max_length}.to_json();
  parts.make_validation = [&options, context, &vocabulary, &network] {
    return std::make_unique<ClassifyValidation>(read_labeled_rows(options.data.valid_sets.at(0), options, vocabulary),
                                                network, context, options.validation);
  };
  return parts;
}

}  // namespace

std::optional<ReplayResult> train_classify(const Resolved<ClassifyOptions>& options, const EncoderOnlyConfig& encoder,
                                           Communicator& ranks) {
  InitialEncoder initial = initial_encoder(*options, encoder);
  return run_job(*options, ranks, [&](const JobContext& context) { return make_parts(*options, initial, context); });
}

}  // namespace gyre
