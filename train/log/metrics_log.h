// metrics.jsonl: the machine-readable metrics of a run, one JSON object per line. Every object has an "event":
//   start   a run begins
//   resume  a run continues from a checkpoint
//   train   means since the last train event: loss (nats per prediction; absent without predictions), its parts such as
//           cross-entropy, and with a cross-entropy accuracy; tokens_per_second; learning_rate, gradient_norm;
//           target_tokens: the sum since the beginning of the run
//   stage   a stage of the run begins: stage (from 1), stages; begin: the number of updates before it; stage_updates,
//           max_length, batch, batch_unit. A resumed run repeats the entries of stages whose options have changed
//   valid   loss, perplexity, bleu, ...; validation_seconds: duration of the validation; samples: the source, the
//           reference and the output of a few samples, if the validation makes text (nmt_validation.h,
//           language.cpp)
//   end     a job ends: reason, tokens_per_second, best
// and the fields
//   time     time of writing: UTC, ISO 8601
//   updates  number of updates so far
//   seconds  training time so far, over all jobs of the run; includes validation and saving
//
// The file is append-only. A run that returns to an earlier checkpoint writes {"event":"resume","updates":N}: readers
// then drop the earlier entries beyond update N. A number that is not finite is written as null.
#pragma once

#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/train/log/appended_file.h"

namespace gyre {

class MetricsLog {
 public:
  // Opens the file for appending. Removes an incomplete last line of an earlier process.
  explicit MetricsLog(const Path& path);
  void append(const Json& entry);  // one line

 private:
  AppendedFile file_;
};

// Returns all valid entries in order: those that no later resume event has dropped. Each has a string "event";
// "updates", if present, is a number. Ignores an incomplete last line, which may be being written. Throws an Error that
// names file and line if any other line is not such an object.
std::vector<Json> read_metrics(const Path& path);

}  // namespace gyre
