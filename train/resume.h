// Starts or resumes a run: resumes from the run directory's newest checkpoint, if any, which must match the options.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/io/json.h"
#include "gyre/core/option_list.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/options.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/task.h"

namespace gyre {

// The number of micro-batches of a global batch among the options of a run: with --deterministic among those of its
// data.
inline constexpr const char* kMicroBatchesOption = "micro-batches";

// A run, to be compared with its checkpoint.
struct RunIdentity {
  RunOptions options;
  // Of all options: a checkpoint that lacks one is of a run that had its default, and an option that `options` lacks is
  // one that this job does not read.
  RunOptions defaults;

  // Adds the options of a struct, by what a change of them means (OnResume).
  template <class Options>
  void add(const Options& values) {
    add(OptionList::of(values), OptionList::of(Options()));
  }
  void add(const OptionList& values, const OptionList& default_values);
};

// "layers 4 -> 6; ..." for the values of config.json that differ.
struct ConfigChanges {
  std::string of_model;     // they make it another model
  std::string of_training;  // such as dropout: they change how the same weights are trained
};
ConfigChanges config_changes(const Json& before, const Json& now);

// "learn-rate 0.1 -> 0.2; ..." for the options whose values differ from those of the checkpoint. Options of stages that
// had not begun at the checkpoint may change.
struct RunChanges {
  std::string refused;  // options that must not change
  std::string of_bits;  // options that change what the run computes
};
RunChanges run_changes(const TrainState& saved, const RunIdentity& now);

// Throws an Error that names every changed option that must not change. Logs a warning about the others.
void require_same_run(const Path& checkpoint, const TrainState& saved, const RunIdentity& now);

// Collective. Loads the newest valid checkpoint, if any, into model, optimizer and state, except the parts that
// `reload` excludes. Returns whether there was one. `run`: the run directory on rank 0, nullptr on other ranks.
// `deciding_metric` selects the best checkpoint; empty without validation. If the validation of `state` differs from
// that of the checkpoint, the best values and the patience start anew, with a warning. Throws an Error if the
// checkpoint belongs to another model or to other options.
bool resume(const RunDirectory* run, Communicator& ranks, TrainingModel& model, Optimizer& optimizer,
            const RunIdentity& identity, TrainState& state, const Reload& reload, const std::string& deciding_metric);

}  // namespace gyre
