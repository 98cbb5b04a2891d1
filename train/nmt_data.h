// The sentence pairs of a translation run: what to train on, in batches, and what to validate on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "data/batch_plan.h"
#include "data/vocabulary.h"
#include "train/options.h"
#include "train/shard_tree.h"
#include "train/step.h"
#include "train/validation.h"

namespace gyre {

// Training pairs. The batches of an epoch are the same on every rank, and for any number of ranks.
class NmtData {
 public:
  // Opens a token store, or reads text; logs what was left out.
  NmtData(const TrainOptions& options, const Vocabulary& vocabulary, int shards);

  size_t sentences() const { return store_.size(); }
  uint64_t tokens(int side) const { return store_.total_tokens(side); }  // without EOS
  uint64_t checksum() const { return store_.checksum(); }

  // Plans the epoch, numbered from 0; does nothing when it is the current one.
  void start_epoch(uint64_t epoch);
  size_t batches() const { return plan_.size(); }  // of the epoch
  // Global batch i: its counts, and the shards that this rank owns.
  RankBatch batch(size_t i, ShardRange own) const;

 private:
  TokenStore store_;
  BatchOptions batch_options_;
  uint64_t seed_;
  int shards_;
  std::optional<uint64_t> epoch_;
  EpochPlan plan_;
};

// The validation pairs of `options`, with at most `longest` ids a side.
ValidationSet read_validation_set(const TrainOptions& options, const Vocabulary& vocabulary, int64_t longest);

}  // namespace gyre
