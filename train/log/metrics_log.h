// metrics.jsonl: what a run measured, one JSON object per line, for programs to read. Every object names its "event":
//   start   a run begins; resume: it goes on
//   train   means since the last such entry: loss (nats per prediction; absent where nothing was predicted),
//           tokens_per_second; learning_rate, gradient_norm
//   valid   loss, perplexity, bleu, ...; validation_seconds: how long it took
//   end     of a job: reason, tokens_per_second, best
// and has
//   time     when it was written: UTC, ISO 8601
//   updates  made so far
//   seconds  trained so far, over all jobs of the run; validation and saving included
//
// The file only grows. A run that goes back to an earlier checkpoint says so with {"event":"resume","updates":N};
// readers then forget what lies before that line and beyond update N. A number that is not finite is written as null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/file.h"
#include "train/log/appended_file.h"

namespace gyre {

class MetricsLog {
 public:
  // Opens for appending. A last line that an earlier process did not finish is removed.
  explicit MetricsLog(const Path& path);
  void append(const nlohmann::ordered_json& entry);  // one line

 private:
  AppendedFile file_;
};

// All entries that still hold, in order; each has a string "event", and "updates" is a number where it is there. An
// unfinished last line is passed over, it may be on its way; any other line that is not such an object throws with file
// and line.
std::vector<nlohmann::ordered_json> read_metrics(const Path& path);

}  // namespace gyre
