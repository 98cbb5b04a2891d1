// The interface of a task's training data: global batches, divided into micro-batches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/tape.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/period.h"

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
inline void count(Progress& progress, const RankBatch& batch, size_t batches_of_epoch) {
  ++progress.updates;
  progress.sentences += batch.sentences;
  progress.source_tokens += batch.source_tokens;
  progress.target_tokens += batch.target_tokens;
  if (++progress.batch == batches_of_epoch) {
    progress.batch = 0;
    ++progress.epoch;
  }
}

// The batches of an epoch are a pure function of the seed and the epoch: the same on every rank and for any number of
// ranks.
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

}  // namespace gyre
