// Training of text matching on triplets: `gyre train match`.
#pragma once

#include <optional>

#include "gyre/models/config/config.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/replay.h"
#include "gyre/train/tasks/matching/match_options.h"

namespace gyre {

// Collective. Starts the run in start.directory, or resumes an existing one. Returns the result of a replay, if
// options.replay asks for one. `encoder`: the configuration of a new model; with a pretrained model only its dropout is
// used. The run has a task.json (train/tasks/matching/match_task.h).
std::optional<ReplayResult> train_match(const Resolved<MatchOptions>& options, const EncoderOnlyConfig& encoder,
                                        Communicator& ranks);

}  // namespace gyre
