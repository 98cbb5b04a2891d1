// Training checkpoints: the complete state from which a run continues with the same bits.
//
//   model.safetensors      the weights for decoding, or their moving average if the run keeps one
//   optimizer.safetensors  the state of the optimizer, "<slot>.<parameter>" (Adam's slots are m and v); with a moving
//                          average also the weights, "weights.<parameter>"
//   state.json             TrainState, the CRC-32C of every tensor of both files, and the CRC-32C of state.json
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/train/checkpoint/progress.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/checkpoint/run_options.h"
#include "gyre/train/optim/optimizer.h"

namespace gyre {

// state.json of a checkpoint directory: a summary given by the caller, the CRC-32C of every tensor in the directory's
// safetensors files, and the CRC-32C of state.json. verify_manifest() detects a flipped bit anywhere in the directory.
struct TensorFile {
  std::string name;  // "model.safetensors"
  std::vector<TensorSource> tensors;
};

// Writes the files, reading each tensor once, then state.json with `summary` (an object) before the checksums.
void write_manifest(const Path& directory, const Json& summary, const std::vector<TensorFile>& files);

// Reads state.json. Throws if it does not match its checksum.
Json read_manifest(const Path& directory);

// Reads every byte. Throws at the first file or tensor that is missing, is unexpected or fails its checksum.
void verify_manifest(const Path& directory);
// The same for one safetensors file of a checkpoint directory.
void verify_tensors(const Path& file);

struct BestMetric {
  double value = 0;
  uint64_t updates = 0;  // the update at which it was reached
};

// The checkpoint that the link `best` points to, and its value of the metric.
struct BestCheckpoint {
  std::string metric;
  double value = 0;
  uint64_t updates = 0;  // step-<updates>
};

// The part of the state that is not in tensors. checkpoint_content() sets the optimizer's fields and the version.
struct TrainState {
  Progress progress;
  uint64_t seed = 0;
  int micro_batches = 1;
  int ranks = 1;
  bool deterministic = false;
  std::string kernels;                      // the instruction set or the GPU: the bits depend on it
  double seconds = 0;                       // training time so far, over all jobs
  int validations_without_improvement = 0;  // count for the first metric, for early stopping
  std::map<std::string, BestMetric> best;   // best values by metric name, over all validations
  // Not always the checkpoint with the best value: writing that one may have failed.
  std::optional<BestCheckpoint> best_checkpoint;
  std::map<std::string, std::string> validation_basis;  // ValidationBasis of these values; empty: never validated
  bool validation_due = false;  // a signal ended the job before the validation of this update: the next job runs it
  // Sums of loss, cross-entropy, correct predictions and all predictions over the updates since the last entry of
  // metrics.jsonl.
  std::array<double, 4> unreported{};
  RunOptions options;
  uint64_t optimizer_step = 0;
  uint64_t moments_step = 0;  // updates since the moments were zero: less than optimizer_step after --reset-optimizer
  bool has_average = false;
  std::string version;  // version of gyre

  // Forgets the best values and the validations without improvement.
  void forget_validations() {
    best.clear();
    best_checkpoint.reset();
    validations_without_improvement = 0;
  }
};

struct CheckpointContent {
  TrainState state;
  std::vector<TensorFile> files;
};
// The tensors are read when the files are written. Reading is collective if ranks own parts of the optimizer state.
CheckpointContent checkpoint_content(const Parameters& parameters, const Optimizer& optimizer, TrainState state);

// Writes run/checkpoints/step-<updates>, points `last` at it and returns its path. Throws on any error, including
// weights that are not finite; the earlier checkpoints and links then stay unchanged.
Path write_checkpoint(const RunDirectory& run, const CheckpointContent& content);

// Restores the parameters and the optimizer. Without `moments`, those of the checkpoint may belong to another update
// rule, and the optimizer begins with its own. Throws if a tensor is missing, is unexpected or has a wrong shape.
TrainState load_checkpoint(const Path& checkpoint, Parameters& parameters, Optimizer& optimizer, bool moments = true);

TrainState read_train_state(const Path& checkpoint);
Json to_json(const TrainState& state);  // state.json, without checksums

// Points `best` at the checkpoint that `state` names: the process may have been killed between writing the checkpoint
// and writing the link. Returns whether that checkpoint exists.
bool repair_best_link(const RunDirectory& run, const TrainState& state);

struct Resumable {
  Path checkpoint;
  std::vector<std::string> skipped;  // one line for each newer checkpoint with the reason why it cannot be used
};
// Returns the newest valid checkpoint, or nullopt if there are no checkpoints. Throws if all checkpoints are corrupt,
// because silently training from the start would surprise the user.
std::optional<Resumable> find_resumable(const Path& run);

}  // namespace gyre
