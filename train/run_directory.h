// The run directory:
//
//   run/  config.json  train.toml  task.json  vocab.*  metrics.jsonl  events.out.tfevents.*  train.log  .lock
//         checkpoints/  step-00001000/ {model.safetensors, optimizer.safetensors, state.json}
//                       average-last-5/ {model.safetensors, state.json}
//                       best -> step-..   last -> step-..   average -> average-..
//
// A checkpoint directory is filled under a hidden temporary name, flushed, then renamed: under its own name it is
// whole. Links are replaced by one rename. Names that start with '.' and end with ".tmp" are leftovers of a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "train/lock.h"

namespace gyre {

// Read access needs only the path; the class below owns the directory for training.
inline Path config_path(const Path& run) { return run / "config.json"; }
inline Path task_path(const Path& run) { return run / "task.json"; }  // of some tasks
inline Path checkpoints_path(const Path& run) { return run / "checkpoints"; }
// run/checkpoints/step-00001000
Path checkpoint_path(const Path& run, uint64_t updates);
// Every step-* directory, oldest first.
std::vector<Path> list_checkpoints(const Path& run);
// Where checkpoints/<link> points, if it stands and its target exists.
std::optional<Path> linked_checkpoint(const Path& run, const std::string& link);

// Fills a directory through `fill(temporary)` and gives it its name at the end, replacing what was there. When `fill`
// throws, the temporary is removed and what was there stays.
void write_directory(const Path& target, const std::function<void(const Path&)>& fill);
// Points checkpoints/<link> at a directory beside it.
void point_link(const Path& run, const std::string& link, const Path& target);

class RunDirectory {
 public:
  // Creates the directory where it is missing, locks it and removes leftovers. With `overwrite`, removes the run that
  // it holds (checkpoints, config, options, task, metrics, logs; never the vocabulary, nor what Gyre did not make).
  // Throws for a directory that holds something else than a run.
  RunDirectory(Path path, bool overwrite);
  // For a run that failed before it began: removes the directory where the constructor made it.
  void abandon() const;

  const Path& path() const { return path_; }
  Path config() const { return config_path(path_); }
  Path task() const { return task_path(path_); }
  Path options() const { return path_ / "train.toml"; }
  Path metrics() const { return path_ / "metrics.jsonl"; }
  Path log() const { return path_ / "train.log"; }

  void mark_best(const Path& checkpoint) const { point_link(path_, "best", checkpoint); }
  void mark_last(const Path& checkpoint) const { point_link(path_, "last", checkpoint); }
  // Removes all but the newest `keep_last` checkpoints (0: keeps all), those of a multiple of `keep_every` updates
  // (0: none), and the targets of best and last. Returns the removed ones.
  std::vector<Path> prune(int keep_last, uint64_t keep_every) const;

 private:
  void remove_leftovers() const;
  void remove_run() const;

  Path path_;
  bool is_new_;
  RunLock lock_;
};

}  // namespace gyre
