// Finds the state of the run that trained a model.
#pragma once

#include <optional>
#include <string>

#include "gyre/train/checkpoint/checkpoint.h"

namespace gyre {

// Returns the state in the checkpoint selected by `model` and `which` (train/checkpoint/model_file.h). For an average
// of checkpoints, that of the newest of them which still exists. nullopt if there is none, as for an imported model.
std::optional<TrainState> find_train_state(const Path& model, const std::string& which);
// Returns the state in the newest checkpoint of a run that has a readable one: resuming skips broken ones, too.
std::optional<TrainState> newest_train_state(const Path& run);
// Like find_train_state, or else the newest state, for what all checkpoints of the run have in common.
std::optional<TrainState> find_run_state(const Path& model, const std::string& which);

}  // namespace gyre
