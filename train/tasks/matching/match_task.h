// run/task.json of text matching, which the evaluation needs in addition to the model:
//   {"task": "match", "loss": "cross-entropy", "margin": 1.0, "max_length": 1024}
#pragma once

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/train/tasks/matching/match_objective.h"

namespace gyre {

struct MatchTask {
  MatchObjective objective;
  int max_length = 0;  // pairs are truncated to this number of ids

  Json to_json() const;
};

// True if run/task.json exists and is that of text matching.
bool is_match_task(const Path& run);

// Reads run/task.json. Throws an Error that names the file if it is invalid or belongs to another task.
MatchTask read_match_task(const Path& run);

}  // namespace gyre
