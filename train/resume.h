// Beginning or continuing a run: what the run directory holds decides, and must fit the options.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/kernels.h"
#include "data/vocabulary.h"
#include "train/checkpoint.h"
#include "train/communicator.h"
#include "train/training_model.h"

namespace gyre {

// The options that the course of a run depends on, as text by name. Names that begin with '=' must stay the same for
// the position in the data to mean the same; a change of the others is only reported.
using RunOptions = std::map<std::string, std::string>;
// Those that every task has. `optimizer`: with its schedule resolved; `precision`: what --precision came to on this
// machine.
RunOptions run_options(const TrainOptions& options, const OptimizerOptions& optimizer, Precision precision,
                       const TrainState& state, const Vocabulary& vocabulary, uint64_t data_fingerprint);

// Throws an Error that names every option that must not change; warns of the others.
void require_same_run(const Path& checkpoint, const TrainState& saved, const TrainState& now);

// Collective: loads the newest whole checkpoint, if there is one, into model, optimizer and state, but for what
// options.reload leaves out. `run` is rank 0's directory, none elsewhere. Returns whether there was one. Throws when it
// belongs to another model or to other options.
bool resume(const RunDirectory* run, Communicator& ranks, TrainingModel& model, Optimizer& optimizer, TrainState& state,
            const TrainOptions& options);

// config.json, train.toml, a copy of the vocabulary and the task's own file, once it is clear that the options fit the
// run.
void write_run_files(const RunDirectory& run, const TrainOptions& options, const TrainingModel& model,
                     const Vocabulary& vocabulary, const nlohmann::ordered_json& task);

// Collective: throws when the weights of the ranks are not the same bits.
void require_same_weights(Communicator& ranks, const Parameters& parameters);

}  // namespace gyre
