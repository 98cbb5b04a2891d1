#include "gyre/train/tasks/matching/match.h"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/train/job.h"
#include "gyre/train/job_context.h"
#include "gyre/train/log/console.h"
#include "gyre/train/options.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/matching/match_objective.h"

namespace gyre {

LabeledIds read_triplets(const Path& file, const DataOptions& options, const Vocabulary& vocabulary) {
  const TripletText text(file, options.on_bad_line);
  LabeledIds pairs(text, vocabulary, options.max_length);
  spdlog::info("{}; {} truncated to {} tokens", text.describe(), counted(pairs.truncated(), "pair"),
               options.max_length);
  return pairs;
}

MatchData::MatchData(const MatchOptions& options, const EncoderOnlyConfig& encoder, const Vocabulary& vocabulary,
                     LossFunction<LabeledInput> loss, int micro_batches)
    : name_(options.data.train_sets.at(0).string()),
      pairs_(read_triplets(options.data.train_sets.at(0), options.data, vocabulary)),
      encoder_(encoder),
      seed_(mix(options.seed, hash_name("swapped texts"))),
      swap_(options.swap),
      predictions_per_triplet_(options.objective.predictions_per_triplet()),
      batches_({name_, pairs_.size() / 2, 1, [this](size_t triplet, int) { return length(triplet); }}, options.batch,
               options.seed, micro_batches),
      loss_(std::move(loss)) {}

std::string MatchData::describe() const {
  uint64_t ids = 0;
  for (size_t triplet = 0; triplet < pairs_.size() / 2; ++triplet) ids += length(triplet);
  return concat(counted(pairs_.size() / 2, "triplet"), ", ", counted(ids, "token"));
}

bool MatchData::swaps(uint32_t triplet) const {
  return random_uniform(seed_, mix(batches_.epoch(), triplet), 0) < swap_;
}

LabeledInput MatchData::input(std::span<const uint32_t> triplets) const {
  std::vector<uint32_t> rows;
  for (const uint32_t triplet : triplets) rows.insert(rows.end(), {2 * triplet, 2 * triplet + 1});
  return labeled_input(pairs_.batch(rows, [this](uint32_t row) { return swaps(row / 2); }), encoder_);
}

RankBatch MatchData::batch(size_t i, MicroBatchRange own) const {
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = indices.size();
  batch.predictions = predictions_per_triplet_ * indices.size();
  for (const uint32_t triplet : indices) batch.target_tokens += length(triplet);
  const std::vector<std::vector<uint32_t>> micro_batches = batches_.micro_batches(indices);
  for (int s = own.begin; s < own.end; ++s) {
    const std::vector<uint32_t>& triplets = micro_batches[size_t(s)];
    batch.micro_batches.push_back(make_micro_batch(loss_, input(triplets), predictions_per_triplet_ * triplets.size()));
  }
  return batch;
}

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
  const std::string loss(enum_name(objective_.loss));
  result.loss = result.metrics[loss] = match_score(loss, predictions, objective_);
  result.seconds = watch.seconds();
  return result;
}

TaskParts make_parts(const MatchOptions& options, InitialEncoder& initial, const JobContext& context) {
  TaskParts parts;
  const MatchObjective& objective = options.objective;
  const SequenceClassifier& network =
      start_classifier(parts, options, initial, 1, std::string(enum_name(objective.loss)), context);
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
