// Checkpoints: everything that a run needs to go on bit for bit.
//
//   model.safetensors      what decoding uses: the weights, or their moving average where the run keeps one
//   optimizer.safetensors  Adam's moments "m.<parameter>", "v.<parameter>"; with a moving average the weights
//                          themselves, "weights.<parameter>"
//   state.json             TrainState, the CRC-32C of every tensor of both files, and one of itself
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autograd/parameters.h"
#include "train/manifest.h"
#include "train/optimizer.h"
#include "train/options.h"
#include "train/run_directory.h"

namespace gyre {

struct BestMetric {
  double value = 0;
  uint64_t updates = 0;  // when it was reached
};

// The checkpoint that the link `best` points to, and why.
struct BestCheckpoint {
  std::string metric;
  double value = 0;
  uint64_t updates = 0;  // step-<updates>
};

// What is not a tensor. save_checkpoint() fills in the optimizer's part and the version.
struct TrainState {
  Progress progress;
  uint64_t seed = 0;
  int shards = 1;
  int ranks = 1;
  bool deterministic = false;
  std::string kernels;                     // the instruction set or the GPU: bits hang on it
  double seconds = 0;                      // trained so far, over all jobs
  int stalled_validations = 0;             // without a better first metric: early stopping
  std::map<std::string, BestMetric> best;  // by metric name, of all validations
  // Not always the one with the best value: it may have failed to be written.
  std::optional<BestCheckpoint> best_checkpoint;
  bool validation_due = false;  // at this update; left to the job that continues the run, since a signal came
  // Loss, cross-entropy, correct and all predictions of the updates since the last entry of metrics.jsonl, summed.
  std::array<double, 4> unreported{};
  // What the course of the run depends on, by the option's name, as text (train/resume.h compares them).
  std::map<std::string, std::string> options;
  uint64_t optimizer_step = 0;
  uint64_t moments_step = 0;  // updates since the moments were zero: fewer than optimizer_step after --reset-optimizer
  bool has_average = false;
  std::string version;  // of gyre
};

struct CheckpointContent {
  TrainState state;
  std::vector<TensorFile> files;
};
// Of tensors that are read when they are written. Reading is collective where ranks own shares of the optimizer.
CheckpointContent checkpoint_content(const Parameters& parameters, const Optimizer& optimizer, TrainState state);

// Writes run/checkpoints/step-<updates> and points `last` at it; returns its path. On any error, one of which are
// weights that are not finite, the earlier checkpoints and links stay as they were.
Path write_checkpoint(const RunDirectory& run, const CheckpointContent& content);

// Restores parameters and optimizer, its moments or not. Throws on a missing, unexpected or mis-shaped tensor.
TrainState load_checkpoint(const Path& checkpoint, Parameters& parameters, Optimizer& optimizer, bool moments = true);

TrainState read_train_state(const Path& checkpoint);

// Reads every byte and throws at the first file or tensor that is missing or does not match its checksum.
void verify_checkpoint(const Path& checkpoint);

// Points `best` at the checkpoint that `state` names; whether that checkpoint exists. The process may have been killed
// between the checkpoint and its link.
bool repair_best_link(const RunDirectory& run, const TrainState& state);

struct Resumable {
  Path checkpoint;
  std::vector<std::string> skipped;  // why newer ones cannot be used, one line each
};
// The newest whole checkpoint; none where there are no checkpoints at all. Throws when there are some and all are
// broken: training from the start would be a surprise.
std::optional<Resumable> find_resumable(const Path& run);

}  // namespace gyre
