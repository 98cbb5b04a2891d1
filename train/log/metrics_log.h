// metrics.jsonl: what a run measured, one JSON object per line, for programs to read. Every object names its "event":
//   train   updates, epoch, loss (nats per target token), learning_rate, gradient_norm, tokens_per_second, seconds
//   valid   updates, loss, perplexity, bleu, ...
//   start, resume (updates), end (updates, tokens_per_second, best)
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
