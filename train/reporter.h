// Tells what a run does: log lines in Marian's shape, metrics.jsonl, TensorBoard, the line on the terminal. Rank 0
// writes; on other ranks nothing happens.
// Rates count source and target tokens with EOS, over the time of training: validation and saving are left out.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "train/checkpoint.h"
#include "train/log/metrics_log.h"
#include "train/log/progress.h"
#include "train/log/tensorboard.h"
#include "train/options.h"
#include "train/run_directory.h"
#include "train/step.h"
#include "train/validation.h"

namespace gyre {

class Reporter {
 public:
  using Clock = std::function<double()>;  // monotonic, in seconds
  // What the data and the model bring to it.
  struct Task {
    uint64_t batches_per_epoch = 1;
    std::string item;       // of TrainingData
    std::string loss_name;  // of TrainingModel
  };
  // `run`: none on ranks other than 0.
  Reporter(const RunDirectory* run, const TrainOptions& options, const TrainState& state, Task task,
           Clock clock = monotonic_seconds);

  // After every update; `seconds` of this update's work.
  void updated(const TrainState& state, uint64_t epoch, const StepResult& result, uint64_t tokens, double seconds);
  // After updated(). is_due: the means since the last such call go into the log, metrics.jsonl and TensorBoard.
  // Otherwise the log alone gets them, and only when it has been silent for long: times must not change the metrics.
  void progress(const TrainState& state, bool is_due);
  void validated(const TrainState& state, const ValidationResult& result, bool improved);
  // `ranks`: where the time of each went.
  void ended(const TrainState& state, const std::string& reason, const std::vector<StepSeconds>& ranks);
  void clear_line();
  // The sums since metrics.jsonl was last written, for TrainState.
  std::array<double, 4> unreported() const {
    return {window_.sums.loss, window_.sums.nll, window_.sums.correct, window_.sums.tokens};
  }

 private:
  struct Window {  // since the metrics were last written
    LossSums sums;
    double gradient_norm = 0, learning_rate = 0, seconds = 0;
    uint64_t tokens = 0, epoch = 1;
  };
  Goal goal(const TrainOptions& options, const TrainState& state) const;
  int64_t position(const Progress& progress) const;  // towards the end, in its own unit
  // Adds to metrics.jsonl, with what every entry has.
  void measured(const std::string& event, const TrainState& state, const nlohmann::ordered_json& values);
  void log_progress(const TrainState& state);
  void write_metrics(const TrainState& state);
  std::string verdict(const TrainState& state, bool improved) const;
  void warn_of_low_bleu(const ValidationResult& result);

  bool writes_;
  std::optional<MetricsLog> metrics_;
  std::optional<EventWriter> events_;
  std::optional<ProgressLine> line_;
  Period end_;
  Task task_;
  std::string deciding_metric_;  // of what is best and when to stop
  int early_stopping_;           // after so many validations without a better one; 0: never
  bool warned_of_low_bleu_ = false;
  Clock clock_;
  double start_;
  Goal goal_;
  ProgressPace pace_;
  Window window_;
  uint64_t tokens_ = 0;  // in this job
  double seconds_ = 0;
};

}  // namespace gyre
