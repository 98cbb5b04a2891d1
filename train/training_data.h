// What to train on, whatever the task: global batches, cut into shards.
#pragma once

#include <any>
#include <cstdint>
#include <string>
#include <vector>

#include "train/period.h"
#include "train/shard_tree.h"

namespace gyre {

// What one forward and backward pass works through.
struct Shard {
  std::any input;            // what the task's model takes: a PairInput, a MaskedInput
  uint64_t predictions = 0;  // that its loss is a sum over; a shard without any is passed over
};

// A rank's shards of one global batch, and the counts of the whole batch over all ranks.
struct RankBatch {
  std::vector<Shard> shards;
  uint64_t sentences = 0;
  uint64_t source_tokens = 0, target_tokens = 0;  // a task with one side has target tokens only
  // What the loss is a sum over, and the gradient is divided by: target tokens, masked tokens, labelled sentences. 0
  // where masking has chosen no token: such a batch updates nothing.
  uint64_t predictions = 0;
};

// An update was made with a batch of an epoch of so many.
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

// The batches of an epoch are the same on every rank, and for any number of ranks: a function of (seed, epoch).
class TrainingData {
 public:
  virtual ~TrainingData() = default;

  virtual std::string describe() const = 0;  // for the log: "90 pairs, 450 source and 450 target tokens"
  virtual std::string item() const = 0;      // what a batch consists of, in the singular: "pair", "sample", "row"
  virtual uint64_t checksum() const = 0;     // of all that a resumed run must find unchanged

  // Plans the epoch, numbered from 0; does nothing when it is the current one.
  virtual void start_epoch(uint64_t epoch) = 0;
  virtual size_t batches() const = 0;  // of the epoch, at least 1
  // Global batch i: its counts, and the shards that this rank owns. Called from another thread while the model trains.
  virtual RankBatch batch(size_t i, ShardRange own) const = 0;
};

}  // namespace gyre
