// The run directory of a training run, for training and for programs that read it:
//
//   run/  config.json  train.toml  task.json  lora.json  vocab.*  chat_template.jinja  metrics.jsonl
//         generation_config.json  events.out.tfevents.*  train.log  .lock
//         checkpoints/  step-00001000/ {model.safetensors, optimizer.safetensors, state.json}
//                       average-last-5/ {model.safetensors, state.json}
//                       best -> step-..   last -> step-..   average -> average-..
//
// A checkpoint directory is written under a hidden temporary name, flushed, then renamed: under its final name it is
// complete. Links are replaced by a single rename. Directories and links .NAME.tmp and .NAME.old and files
// .NAME.tmp-PID-N are leftovers of a crash.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

struct SavingOptions {
  bool in_background = true;  // write a copy of the state, which needs memory, while training continues
  int keep_last = 5;          // number of checkpoints to keep in addition to the best one; 0: all
  uint64_t keep_every = 0;    // checkpoints at multiples of this number of updates are always kept; 0: none
};

// The parts of a checkpoint that a resumed run restores in addition to the weights.
struct Reload {
  bool optimizer = true;  // the moments
  bool position = true;   // the position in the data; if false, the run restarts at the first epoch
  bool best = true;       // the best value of each metric, and the number of validations without improvement
};

struct StartOptions {
  Path directory;           // the run directory
  bool overwrite = false;   // delete the run in the directory and start over
  bool auto_resume = true;  // resume the run in the directory; if false, there must be none
  Reload reload;
};

// A lock that admits one job per run directory: it holds run/.lock (flock) for the lifetime of the object. The kernel
// releases it when the process ends for any reason. If another process holds the lock, the constructor throws an Error
// that names that process and its host.
class RunLock {
 public:
  explicit RunLock(const Path& run);
  ~RunLock();
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;

 private:
  int descriptor_ = -1;
};

// Readers need only the path. For training, the class RunDirectory below owns the directory.
inline Path config_path(const Path& run) { return run / "config.json"; }
inline Path task_path(const Path& run) { return run / "task.json"; }  // classifiers only
inline Path lora_path(const Path& run) { return run / "lora.json"; }  // runs with adapters only
inline Path checkpoints_path(const Path& run) { return run / "checkpoints"; }
inline Path state_path(const Path& checkpoint) { return checkpoint / "state.json"; }
// The name of the directory, also of "." and "run/".
std::string run_name(const Path& run);
// run/checkpoints/step-00001000
Path checkpoint_path(const Path& run, uint64_t updates);
// The number of updates in the name of a checkpoint, step-00001000; none for another name.
std::optional<uint64_t> checkpoint_updates(const Path& checkpoint);
// Returns all directories with such names, oldest first.
std::vector<Path> list_checkpoints(const Path& run);
// Whether a training with these options continues the run in the directory, instead of starting one. Everything that
// depends on the old run asks this function: with --overwrite, the directory holds the old run until the new one can
// start.
bool continues(const StartOptions& options);
// Returns the target of checkpoints/<link>, or nullopt if the link or its target does not exist. In a run that was
// copied without symbolic links, it is the checkpoint that checkpoints/<link> is a copy of, or else this directory.
std::optional<Path> linked_checkpoint(const Path& run, const std::string& link);

// Makes links again of the copies that replaced them (cp -rL), for programs that write into a run without opening it,
// so that they may run beside a job. Throws as RunDirectory does.
void restore_copied_links(const Path& run);
// Writes a directory atomically: calls `fill(temporary)`, then renames the temporary directory to `target`, replacing
// an existing one. If `fill` throws, removes the temporary directory and leaves an existing target unchanged.
void write_directory(const Path& target, const std::function<void(const Path&)>& fill);
// Points checkpoints/<link> at `target`, a directory in checkpoints/.
void point_link(const Path& run, const std::string& link, const Path& target);

// The stages of saving a checkpoint, in order.
enum class SaveStage : uint8_t {
  written,  // the files, under the temporary name
  renamed,  // the directory has its own name
  last,     // the link `last` points to it
  best      // the link `best` points to the best checkpoint
};
inline constexpr std::array kSaveStageNames{"written", "renamed", "last", "best"};
const char* to_string(SaveStage stage);
using SaveObserver = std::function<void(SaveStage stage, uint64_t updates)>;

class RunDirectory {
 public:
  // Creates the directory if it is missing, locks it, removes leftovers of a crash and makes links again of the copies
  // that replaced them (cp -rL). Throws if the directory contains something other than a run, or if such a copy has
  // what its checkpoint does not have.
  explicit RunDirectory(Path path);
  // For a run that failed before training: removes the directory if the constructor created it.
  void abandon() const;

  const Path& path() const { return path_; }
  Path config() const { return config_path(path_); }
  Path task() const { return task_path(path_); }
  Path options() const { return path_ / "train.toml"; }
  Path metrics() const { return path_ / "metrics.jsonl"; }
  Path log() const { return path_ / "train.log"; }

  // At most one observer is called at every stage, on the thread that saves; what it throws fails the save.
  void observe_saving(SaveObserver observer) { save_observer_ = std::move(observer); }
  void notify(SaveStage stage, uint64_t updates) const {
    if (save_observer_) save_observer_(stage, updates);
  }

  // Removes the run that the directory held when it was opened: checkpoints, config, options, task, adapters, chat
  // template, metrics and the lines of the log until then, but neither the vocabulary nor files that Gyre did not
  // create.
  void remove_old_run() const;
  void mark_best(const Path& checkpoint) const { point_link(path_, "best", checkpoint); }
  void mark_last(const Path& checkpoint) const { point_link(path_, "last", checkpoint); }
  // Removes the vocab.* files of other names than `kept`, so that the run has a single vocabulary.
  void remove_other_vocabularies(const Path& kept) const;
  // Removes old checkpoints and returns their paths. Keeps the newest `keep_last` (0: all), those at multiples of
  // `keep_every` updates (0: none), and the targets of `best` and `last`.
  std::vector<Path> prune(int keep_last, uint64_t keep_every) const;

 private:
  void remove_leftovers() const;
  void restore_links() const;  // repairs a run that was copied without links
  void remove_old_log() const;

  Path path_;
  bool is_new_;
  uintmax_t old_log_ = 0;  // bytes of the log when the directory was opened
  RunLock lock_;
  SaveObserver save_observer_;
};

}  // namespace gyre
