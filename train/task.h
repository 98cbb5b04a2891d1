// The interface of a task to the training loop: its data, its model and its validation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/parameters.h"
#include "gyre/autograd/tape.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/checkpoint/progress.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {

// The loss of a task's model as a function of the task's input, summed over the predictions of that input.
template <class Input>
using LossFunction = std::function<LossResult(Tape&, const Input&)>;

// The work of one forward and backward pass. The task binds its input to its model, so the training loop depends on
// neither type.
struct MicroBatch {
  std::function<LossResult(Tape&)> loss;
  uint64_t predictions = 0;  // the number of terms of the loss; a micro-batch without predictions is skipped
};

// `loss` must outlive the micro-batch.
template <class Input>
MicroBatch make_micro_batch(const LossFunction<Input>& loss, Input input, uint64_t predictions) {
  return {[&loss, input = std::move(input)](Tape& tape) { return loss(tape, input); }, predictions};
}

// A rank's micro-batches of one global batch, and the counts of the whole batch over all ranks.
struct RankBatch {
  std::vector<MicroBatch> micro_batches;
  uint64_t sentences = 0;
  uint64_t source_tokens = 0, target_tokens = 0;  // a task with one side has target tokens only
  // Number of terms of the loss, by which the gradient is divided: target tokens, masked tokens or labeled sentences.
  // If it is 0, because no token is masked, the batch updates nothing.
  uint64_t predictions = 0;
};

// Adds a finished update with `batch` to `progress`.
inline void advance(Progress& progress, const RankBatch& batch, size_t batches_of_epoch) {
  ++progress.updates;
  progress.sentences += batch.sentences;
  progress.source_tokens += batch.source_tokens;
  progress.target_tokens += batch.target_tokens;
  if (++progress.batch == batches_of_epoch) {
    progress.batch = 0;
    ++progress.epoch;
  }
}

// The training data of a task: global batches, divided into micro-batches. The batches of an epoch are a pure function
// of the seed and the epoch: the same on every rank and for any number of ranks.
class TrainingData {
 public:
  virtual ~TrainingData() = default;

  virtual std::string describe() const = 0;  // text for the log: "90 pairs, 450 source and 450 target tokens"
  virtual std::string item() const = 0;      // the element of a batch, in the singular: "pair", "sample", "row"
  virtual uint64_t checksum() const = 0;     // checksum of all data that must not change before the run is resumed

  // Plans an epoch, numbered from 0. Does nothing if it is the current one. `first_update`: the number of updates of
  // the run before the epoch.
  virtual void start_epoch(uint64_t epoch, uint64_t first_update) = 0;
  virtual size_t batches() const = 0;  // number of batches of the epoch, at least 1
  // Returns global batch i: its counts, and the micro-batches `own` of this rank. Called from another thread during
  // updates.
  virtual RankBatch batch(size_t i, MicroBatchRange own) const = 0;
};

// The model of a task. The loss is bound to the data: see MicroBatch.
class TrainingModel {
 public:
  virtual ~TrainingModel() = default;

  // The parameters that are trained and saved; those of a base with adapters are neither.
  virtual Parameters& parameters() = 0;
  // Called before each update, for state that changes other than by gradients. `update` counts from the start of the
  // run. The new state is a pure function of the seed and the update.
  virtual void before_update(uint64_t /*seed*/, uint64_t /*update*/) {}
  // The name of the loss of a prediction. Only a cross-entropy comes with a count of correct predictions.
  virtual std::string loss_name() const { return "cross-entropy"; }
  virtual std::string describe() const = 0;  // the architecture, for the log
  // The content of the run's config.json. A run is resumed only with the same configuration.
  virtual Json config() const = 0;
};

// The output of the model for one validation sample, as text.
struct ValidationSample {
  std::string source, reference, output;
};

struct ValidationResult {
  double loss = 0;  // cross-entropy of a prediction, without label smoothing
  std::map<std::string, double> metrics;
  double seconds = 0;
  std::vector<ValidationSample> samples{};  // the first few, on rank 0 only; none if the validation makes no text
};

// Every metric that a validation may compute. Throws an Error for any other name, so that a new metric cannot make the
// worst checkpoint the best one. "cross-entropy/SET" is the cross-entropy of one of several validation sets.
inline bool higher_is_better(std::string_view metric_of_set) {
  constexpr std::pair<std::string_view, bool> kHigherIsBetter[] = {{"cross-entropy", false},
                                                                   {"perplexity", false},
                                                                   {"bits-per-byte", false},
                                                                   {"mean-squared-error", false},
                                                                   {"margin-loss", false},
                                                                   {"accuracy", true},
                                                                   {"f1", true},
                                                                   {"macro-f1", true},
                                                                   {"matthews", true},
                                                                   {"pearson", true},
                                                                   {"spearman", true},
                                                                   {"bleu", true},
                                                                   {"chrf", true}};
  const std::string_view metric = metric_of_set.substr(0, metric_of_set.find('/'));
  for (const auto& [name, higher] : kHigherIsBetter)
    if (name == metric) return higher;
  throw Error("[validation] higher_is_better() in train/task.h lacks the metric ",
              quoted_for_message(std::string(metric)));
}

// The data and the options that determine the metrics besides the model, as text by name. If one of them changes,
// values before and after the change cannot be compared.
using ValidationBasis = std::map<std::string, std::string>;

// Computes metrics on held-out data.
class Validation {
 public:
  virtual ~Validation() = default;
  virtual ValidationBasis basis() const = 0;
  // Collective. All ranks get the same loss and metrics. The result does not depend on the number of ranks.
  virtual ValidationResult run() = 0;
};

}  // namespace gyre
