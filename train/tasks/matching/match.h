// Training of text matching on triplets, `gyre train match`: the triplets and the run.
#pragma once

#include <optional>

#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/config/config.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/step.h"
#include "gyre/train/tasks/matching/match_options.h"

namespace gyre {

// Reads the triplets of a file as pairs, truncated to options.max_length ids. Logs how many were skipped and truncated.
LabeledIds read_triplets(const Path& file, const DataOptions& options, const Vocabulary& vocabulary);

// Collective. Starts the run in start.directory, or resumes an existing one. Returns the result of a replay, if
// options.replay asks for one. `encoder`: the configuration of a new model; with a pretrained model only its dropout is
// used. The run has a task.json (train/tasks/matching/match_objective.h).
std::optional<ReplayResult> train_match(const Resolved<MatchOptions>& options, const EncoderOnlyConfig& encoder,
                                        Communicator& ranks);

}  // namespace gyre
