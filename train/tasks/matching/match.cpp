#include "gyre/train/tasks/matching/match.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/train/job.h"
#include "gyre/train/options.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/matching/match_objective.h"

namespace gyre {

LabeledIds read_triplets(const Path& file, const DataOptions& options, const Vocabulary& vocabulary) {
  const TripletText text(file, options.on_bad_line);
  LabeledIds pairs(text, vocabulary, options.max_length);
  spdlog::info("{}; {} truncated to {} tokens", text.describe(), counted(pairs.truncated(), "pair"),
               options.max_length);
  return pairs;
}

namespace {

TaskParts make_parts(const MatchOptions& options, InitialEncoder& initial, const JobContext& context) {
  TaskParts parts;
  const MatchObjective& objective = options.objective;
  const std::string loss_name(enum_name(objective.loss));
  const SequenceClassifier& network = start_classifier(parts, options, initial, 1, loss_name, context);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  const auto loss = [&network, objective](Tape& tape, const LabeledInput& pairs) {
    return objective(tape, network, pairs);
  };
  parts.data = std::make_unique<LabeledData>(
      LabeledItems{.rows = read_triplets(options.data.train_sets.at(0), options.data, vocabulary),
                   .name = "triplet",
                   .rows_per_item = 2,
                   .predictions_per_item = objective.predictions_per_triplet(),
                   .swap = options.swap},
      options, initial.config, loss, context.micro_batches);
  parts.task = MatchTask{objective, options.data.max_length}.to_json();
  parts.make_validation = [&options, context, &vocabulary, &network, loss_name] {
    return std::make_unique<LabeledValidation>(
        read_triplets(options.data.valid_sets.at(0), options.data, vocabulary), network, context, options.validation,
        loss_name,
        [&objective = options.objective](std::string_view metric, const Predictions& predictions, const LabeledIds&) {
          return match_score(metric, predictions, objective);
        },
        options.objective.is_margin_loss() ? ValidationBasis{{"margin", concat(options.objective.margin)}}
                                           : ValidationBasis());
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
