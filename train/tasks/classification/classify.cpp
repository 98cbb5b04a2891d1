#include "gyre/train/tasks/classification/classify.h"

#include "gyre/train/job.h"
#include "gyre/train/pretrained/trained_task.h"
#include "gyre/train/tasks/classification/classify_data.h"
#include "gyre/train/tasks/classification/classify_validation.h"
#include "gyre/train/tasks/fine_tuning.h"

namespace gyre {
namespace {

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
