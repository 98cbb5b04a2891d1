#include "gyre/train/tasks/classification/classify.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/train/job.h"
#include "gyre/train/job_context.h"
#include "gyre/train/log/console.h"
#include "gyre/train/metrics/labels.h"
#include "gyre/train/options.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/inputs.h"

namespace gyre {

LabeledIds read_labeled_rows(const Path& file, const ClassifyOptions& options, const Vocabulary& vocabulary) {
  const LabeledText text(file, options.format, options.data.on_bad_line);
  LabeledIds rows(text, vocabulary, options.data.max_length);
  spdlog::info("{}; {} truncated to {} tokens", text.describe(), counted(rows.truncated(), "row"),
               options.data.max_length);
  return rows;
}

ClassifyData::ClassifyData(const ClassifyOptions& options, const EncoderOnlyConfig& encoder,
                           const Vocabulary& vocabulary, LossFunction<LabeledInput> loss, int micro_batches)
    : name_(options.data.train_sets.at(0).string()),
      rows_(read_labeled_rows(options.data.train_sets.at(0), options, vocabulary)),
      encoder_(encoder),
      batches_({name_, rows_.size(), 1, [this](size_t row, int) { return uint64_t(rows_.length(row)); }}, options.batch,
               options.seed, micro_batches),
      loss_(std::move(loss)) {}

std::string ClassifyData::describe() const {
  uint64_t ids = 0;
  for (size_t row = 0; row < rows_.size(); ++row) ids += uint64_t(rows_.length(row));
  return concat(counted(rows_.size(), "row"), ", ", counted(ids, "token"));
}

RankBatch ClassifyData::batch(size_t i, MicroBatchRange own) const {
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = batch.predictions = indices.size();
  for (const uint32_t row : indices) batch.target_tokens += uint64_t(rows_.length(row));
  const std::vector<std::vector<uint32_t>> micro_batches = batches_.micro_batches(indices);
  for (int s = own.begin; s < own.end; ++s) {
    const std::vector<uint32_t>& rows = micro_batches[size_t(s)];
    batch.micro_batches.push_back(make_micro_batch(loss_, labeled_input(rows_.batch(rows), encoder_), rows.size()));
  }
  return batch;
}

namespace {

double cross_entropy_of(const Predictions& predictions, std::span<const int32_t> labels) {
  double sum = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const std::span<const double> logits = predictions.row(row);
    const double most = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const double x : logits) total += std::exp(x - most);
    sum += most + std::log(total) - logits[size_t(labels[row])];
  }
  return sum / double(labels.size());
}

double mean_squared_error(const Predictions& predictions, std::span<const float> scores) {
  double sum = 0;
  for (size_t row = 0; row < scores.size(); ++row) {
    const double difference = predictions.outputs[row] - double(scores[row]);
    sum += difference * difference;
  }
  return sum / double(scores.size());
}

}  // namespace

double score(std::string_view metric, const Predictions& predictions, const LabeledIds& rows) {
  if (!rows.is_regression()) {
    if (metric == "cross-entropy") return cross_entropy_of(predictions, rows.labels());
    return classification_score(metric, predictions.classes(), rows.labels());
  }
  if (metric == "mean-squared-error") return mean_squared_error(predictions, rows.scores());
  const std::vector<double> actual(rows.scores().begin(), rows.scores().end());
  return correlation_score(metric, predictions.outputs, actual);
}

namespace {

// Validation of a classifier on labeled rows: the loss and the metrics in options.valid_metrics
// (train/tasks/classification/classify.h).
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
