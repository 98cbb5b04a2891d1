// The training loop: runs updates and the periodic work between them (logging, validation, checkpoints). Every rank
// runs it; rank 0 writes.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include "gyre/core/clock.h"
#include "gyre/train/checkpoint/checkpoint_writer.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/reporter.h"
#include "gyre/train/step.h"
#include "gyre/train/task.h"

namespace gyre {

// The components of a trainer, which it does not own.
struct TrainerParts {
  const StopOptions& stop;
  const ValidationOptions& validation_options;
  const CheckpointOptions& checkpoint;
  const Period& display_every;
  const std::vector<RunStage>& stages;  // empty: no stages
  const RunDirectory* run;              // nullptr on ranks other than 0
  Communicator& ranks;
  TrainingData& data;
  Parameters& parameters;
  Optimizer& optimizer;
  TrainStep& step;
  Validation* validation;  // nullptr: no validation
  Reporter& reporter;
};

class Trainer {
 public:
  // `state`: that of a new run, or of the restored checkpoint.
  Trainer(const TrainerParts& parts, TrainState state);

  // Trains to the end set by the options, or until a signal or the time limit stops the run.
  void run();

 private:
  // An update that has been started. On a GPU its figures are needed, and read, one update later; or earlier, if they
  // are to be written.
  struct StartedUpdate {
    uint64_t number = 0, epoch = 0;  // numbers from 1
    RankBatch batch;
    double seconds = 0;
  };

  void update();
  void take_batch();
  enum class Wait : uint8_t { within_next_update, separately };  // the next update measures its own time
  void finish_started(Wait wait);
  void count_skipped(const StartedUpdate& update, const UpdateInfo& info);
  void warn_of_empty_batch(uint64_t update);
  StopRequest own_stop_request();
  bool is_out_of_time(double seconds) const;  // `seconds`: training time over all jobs
  std::string end_reason() const;             // empty if the run is not finished
  bool due(const Period& period) const;
  bool ends_stage() const;  // the last update was the last one of a stage
  bool validation_is_due() const;
  void validate();
  bool record_metrics(const ValidationResult& result);
  void confirm_best();
  void save();
  void save_after_failure() noexcept;
  std::vector<StepSeconds> seconds_of_ranks() const;
  double trained_seconds() const { return seconds_before_ + clock_.seconds(); }

  TrainerParts parts_;
  TrainState state_;
  Progress before_;  // progress before the last update
  Stopwatch clock_;
  double seconds_before_;
  StepSeconds seconds_;
  StopRequest stop_ = StopRequest::none;
  int skipped_in_a_row_ = 0;
  bool has_warned_of_empty_batch_ = false, has_warned_of_signal_ = false;
  RankBatch batch_;
  std::optional<StartedUpdate> started_;
  std::future<RankBatch> next_batch_;  // batch of the same epoch, prepared during the current update
  CheckpointWriter writer_;
  // The new best checkpoint after the last validation, until it is saved.
  std::optional<BestCheckpoint> improved_;
  bool best_is_unconfirmed_ = false;  // the writer may still fail to write it
  std::optional<BestCheckpoint> best_before_;
};

}  // namespace gyre
