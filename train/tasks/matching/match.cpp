#include "gyre/train/tasks/matching/match.h"

#include "gyre/core/error.h"
#include "gyre/train/job.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/matching/match_data.h"
#include "gyre/train/tasks/matching/match_task.h"
#include "gyre/train/tasks/matching/match_validation.h"

namespace gyre {
namespace {

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
  parts.options = {{"loss", objective.loss}, {"swap-texts", concat(options.swap)}};
  if (objective.is_margin_loss()) parts.options["margin"] = concat(objective.margin);
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
