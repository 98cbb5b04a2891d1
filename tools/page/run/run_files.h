// Reads the files of a run directory other than its metrics: options, architecture, log, checkpoints.
#pragma once

#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

// The options of train.toml by name, as text; those of the third [[stage]] are named "stage 3: NAME". Empty without the
// file.
Json run_options(const Path& run);

// The figures of config.json by name. Nested objects have names such as "position.rope_base". Empty without the file.
Json run_architecture(const Path& run);

// The messages of train.log before the first update of the first job: {"level", "text"}. They report the data and the
// environment. Empty without the file.
Json opening_messages(const Path& run);

// The step-* checkpoints, oldest first: {"name", "updates", "bytes", "best", "last"}, and with an entry of a validation
// at these updates its figures as "values". `entries`: those of read_metrics().
Json run_checkpoints(const Path& run, const std::vector<Json>& entries);

}  // namespace gyre
