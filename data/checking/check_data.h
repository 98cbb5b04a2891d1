// Checks the data of a translation model before a run: what is wrong with the text, how the sets overlap, and whether
// vocabulary and limits fit the text.
#pragma once

#include <utility>
#include <vector>

#include "gyre/data/batch/batch_plan.h"
#include "gyre/data/checking/checked_rows.h"
#include "gyre/data/checking/finding.h"

namespace gyre {

// Finds the sentences of a held-out set that occur in another set.
// Keys of one kind, such as source sentences. First add_held_out() all keys of one set, then look_up() those of the
// other.
class KeyMatches {
 public:
  void add_held_out(const TextHash& key, uint64_t line);
  void look_up(const TextHash& key, uint64_t line);
  uint64_t count() const;  // lines of the held-out set that occur in the other
  // The first matches: the line of the held-out set and the first equal line of the other.
  std::vector<std::pair<uint64_t, uint64_t>> first(size_t count) const;

 private:
  struct Row {
    uint64_t line;
    size_t key;
  };
  TextHashTable table_;            // hash to the number of a distinct key, from 1
  std::vector<uint64_t> seen_at_;  // first line of the other set that has each distinct key, or 0
  std::vector<Row> rows_;
};

// Source sentences, target sentences and pairs of two sets.
struct Overlap {
  size_t held_out = 0, other = 0;  // indices of the sets
  KeyMatches source, target, pairs;

  void add_held_out(const CheckedRow& row);
  void look_up(const CheckedRow& row);
};

// The files of a set: a source and a target file, or one token store. If a set is a store, sentences are compared by
// their ids, otherwise by fold_line().
struct DataCheckOptions {
  std::vector<Path> train, valid;        // valid may be empty
  std::vector<std::vector<Path>> tests;  // any number of them
  BatchOptions batch;                    // batches of training; max_length also limits the lengths that are reported
  uint64_t sample_lines = 0;             // see MeasureOptions
};

struct Epoch {
  uint64_t updates = 0;
  bool is_estimate = false;    // extrapolated from a sample
  double sentence_length = 0;  // mean tokens of a side within max_length, including </s>
};

struct DataCheck {
  std::vector<SetStatistics> sets;  // training, validation, tests
  std::vector<Overlap> overlaps;    // held-out sets with the training set, and tests with the validation set
  RowKeys keys = RowKeys::text;
  Epoch epoch;
  std::vector<Finding> findings;
};

// Throws Error if a file cannot be read. Everything else that is wrong is a finding.
DataCheck check_data(const DataCheckOptions& options, const Vocabulary& vocabulary);

// The length below which a share of the measured sentences of a side is, or which it has: 0.5 is the median. 0 if there
// are none.
uint64_t length_percentile(const SetStatistics& set, int side, double share);

}  // namespace gyre
