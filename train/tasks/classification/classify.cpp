#include "gyre/train/tasks/classification/classify.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/train/job.h"
#include "gyre/train/metrics/labels.h"
#include "gyre/train/options.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/fine_tuning.h"

namespace gyre {

LabeledIds read_labeled_rows(const Path& file, const ClassifyOptions& options, const Vocabulary& vocabulary) {
  const LabeledText text(file, options.format, options.data.on_bad_line);
  LabeledIds rows(text, vocabulary, options.data.max_length);
  spdlog::info("{}; {} truncated to {} tokens", text.describe(), counted(rows.truncated(), "row"),
               options.data.max_length);
  return rows;
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

TaskParts make_parts(const ClassifyOptions& options, InitialEncoder& initial, const JobContext& context) {
  TaskParts parts;
  const bool regression = options.format.is_regression();
  const SequenceClassifier& network =
      start_classifier(parts, options, initial, regression ? 1 : int64_t(options.format.classes.size()),
                       regression ? "mean-squared-error" : "cross-entropy", context);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  const auto loss = [&network](Tape& tape, const LabeledInput& input) { return network.loss(tape, input); };
  parts.data = std::make_unique<LabeledData>(
      LabeledItems{.rows = read_labeled_rows(options.data.train_sets.at(0), options, vocabulary)}, options,
      initial.config, loss, context.micro_batches);
  parts.task = TrainedTask{options.format, options.validation.metrics, options.data.max_length}.to_json();
  parts.make_validation = [&options, context, &vocabulary, &network] {
    return std::make_unique<LabeledValidation>(read_labeled_rows(options.data.valid_sets.at(0), options, vocabulary),
                                               network, context, options.validation, loss_name(network.config()),
                                               score);
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
