// The state of a run in a few figures, for a page.
#pragma once

#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

// The progress of a run, from its entries of metrics.jsonl: {"state", "updates", "target_tokens", "seconds",
// "tokens_per_second", "best"}. `state` is the reason why the last job ended, or that it has not ended. `best` has the
// best value of every validation metric: {"value", "updates"}.
Json run_progress(const std::vector<Json>& entries);

// The program and the settings of a run, from its last start and its last checkpoint: {"gyre", "kernels", "precision",
// "ranks", "shards", "seed", "deterministic"}, without those that are unknown. A damaged checkpoint is named as
// "checkpoint".
Json run_environment(const Path& run, const std::vector<Json>& entries);

}  // namespace gyre
