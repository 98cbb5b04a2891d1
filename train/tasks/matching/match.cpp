#include "gyre/train/tasks/matching/match.h"

#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/train/job.h"
#include "gyre/train/job_context.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/options.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/matching/match_data.h"
#include "gyre/train/tasks/matching/match_objective.h"
#include "gyre/train/tasks/matching/match_task.h"
#include "gyre/train/validation.h"

namespace gyre {
namespace {

// Validation of text matching: the loss and the metrics in options.metrics (train/tasks/matching/match_objective.h).
class MatchValidation final : public Validation {
 public:
  MatchValidation(LabeledIds pairs, const SequenceClassifier& model, const JobContext& context,
                  const MatchObjective& objective, const ValidationOptions& options);

  ValidationBasis basis() const override { return {{"valid-sets", hexadecimal(pairs_.checksum())}}; }
  ValidationResult run() override;

 private:
  LabeledIds pairs_;
  const SequenceClassifier& model_;
  JobContext context_;
  MatchObjective objective_;
  ValidationOptions options_;
};

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

TaskParts make_parts(const MatchOptions& options, InitialEncoder& initial, const JobContext& context) {
  TaskParts parts;
  const MatchObjective& objective = options.objective;
  const SequenceClassifier& network = start_classifier(parts, options, initial, 1, objective.loss, context);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  const auto loss = [&network, objective](Tape& tape, const LabeledInput& pairs) {
    return objective(tape, network, pairs);
  };
  parts.data = std::make_unique<MatchData>(options, initial.config, vocabulary, loss, context.micro_batches);
  parts.task = MatchTask{objective, options.data.max_length}.to_json();
  parts.make_validation = [&options, context, &vocabulary, &network] {
    return std::make_unique<MatchValidation>(read_triplets(options.data.valid_sets.at(0), options.data, vocabulary),
                                             network, context, options.objective, options.validation);
  };
  return parts;
}

}  // namespace

std::optional<ReplayResult> train_match(const Resolved<MatchOptions>& options, const EncoderOnlyConfig& encoder,
                                        Communicator& ranks) {
  InitialEncoder initial = initial_encoder(*options, encoder);
  return run_job(*options, ranks, [&](const JobContext& context) { return make_parts(*options, initial, context); });
}

}  // namespace gyre
