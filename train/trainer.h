// The training loop: updates, and what is due between them. Every rank runs it; rank 0 writes.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include "train/checkpoint_writer.h"
#include "train/communicator.h"
#include "train/reporter.h"
#include "train/step.h"
#include "train/stopwatch.h"
#include "train/training_data.h"
#include "train/validation.h"

namespace gyre {

// What a trainer works with; it owns none of it.
struct TrainerParts {
  const TrainOptions& options;
  const RunDirectory* run;  // rank 0's; none elsewhere
  Communicator& ranks;
  TrainingData& data;
  Parameters& parameters;
  Optimizer& optimizer;
  TrainStep& step;
  Validation* validation;  // none without validation
  Reporter& reporter;
};

class Trainer {
 public:
  // `state`: of a fresh run, or of the checkpoint that was loaded.
  Trainer(const TrainerParts& parts, TrainState state);

  // Trains to the end that the options set, or until a signal or the time asks to stop.
  void run();

  const TrainState& state() const { return state_; }

 private:
  void update();
  void take_batch();
  void count_skipped(const UpdateInfo& info);
  void tell_of_empty_batch();
  StopWish own_wish();
  bool is_out_of_time(double seconds) const;  // of training, over all jobs
  std::string end_reason() const;             // empty while there is something left to do
  bool due(const Period& period) const;
  bool validation_is_due() const;
  void validate();
  bool note(const ValidationResult& result);
  void confirm_best();
  void save();
  void rescue() noexcept;
  std::vector<StepSeconds> seconds_of_ranks() const;
  double trained_seconds() const { return seconds_before_ + clock_.seconds(); }

  TrainerParts parts_;
  TrainState state_;
  Progress before_;  // the last update
  Stopwatch clock_;
  double seconds_before_;
  StepSeconds seconds_;
  StopWish stop_ = StopWish::none;
  int skipped_in_a_row_ = 0;
  bool told_of_empty_batch_ = false, told_of_signal_ = false;
  RankBatch batch_;
  std::future<RankBatch> next_batch_;  // of the same epoch, drawn while this one trains
  CheckpointWriter writer_;
  // What the last validation has made the best checkpoint, until it is saved.
  std::optional<BestCheckpoint> improved_;
  bool best_is_unconfirmed_ = false;  // it was given to the writer, which may fail
  std::optional<BestCheckpoint> best_before_;
};

}  // namespace gyre
