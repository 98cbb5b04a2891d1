// Reports the progress of a run: log lines in Marian's format, metrics.jsonl, TensorBoard and the progress line on the
// terminal. Only rank 0 writes. Rates count source and target tokens with EOS, over the training time without
// validation and saving.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/io/json.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/log/console.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/machine_use.h"
#include "gyre/train/options.h"
#include "gyre/train/step.h"
#include "gyre/train/task.h"

namespace gyre {

class Reporter {
 public:
  using Clock = std::function<double()>;  // monotonic, in seconds
  // Properties of the data, the model and the machine.
  struct Task {
    uint64_t batches_per_epoch = 1;
    std::string item;       // item of TrainingData
    std::string loss_name;  // loss name of TrainingModel
    std::vector<RunStage> stages{};
    ProductsLimit limit{};
    Device device{};
  };
  // `run`: the run directory on rank 0, nullptr on other ranks. `deciding_metric` selects the best checkpoint and stops
  // the run early; empty without validation.
  Reporter(const RunDirectory* run, const LoggingOptions& log, const StopOptions& stop, std::string deciding_metric,
           const TrainState& state, Task task, Clock clock = steady_seconds);

  // Call it after every update. `seconds`: duration of the update.
  void updated(const TrainState& state, uint64_t epoch, const StepResult& result, uint64_t tokens, double seconds);
  // Call it after updated(). `is_due`: writes the means since the last due call to the log, metrics.jsonl and
  // TensorBoard. Otherwise writes them only to the log, and only when ProgressPace is due: times must not change the
  // metrics.
  void progress(const TrainState& state, bool is_due);
  void validated(const TrainState& state, const ValidationResult& result, bool improved);
  // `ranks`: the time of each rank by activity.
  void ended(const TrainState& state, const std::string& reason, const std::vector<StepSeconds>& ranks);
  // Reports the stage of the next update, if the run has stages and has not ended.
  void report_stage(const TrainState& state);
  void clear_line();
  // The sums since the last entry of metrics.jsonl, for TrainState.
  std::array<double, 4> unreported() const {
    return {window_.sums.loss, window_.sums.nll, window_.sums.correct, window_.sums.tokens};
  }

 private:
  struct Window {  // statistics since the last entry of the metrics
    LossSums sums;
    double gradient_norm = 0, learning_rate = 0, seconds = 0, flops = 0;
    uint64_t tokens = 0, epoch = 1;
  };
  Goal goal(const StopOptions& stop, const TrainState& state) const;
  int64_t position(const Progress& progress) const;  // progress in the unit of the goal
  MachineProgress machine_progress(double flops, double seconds) const;
  // Appends an entry with the common fields to metrics.jsonl.
  void append_entry(const std::string& event, const TrainState& state, const Json& values);
  void append_stage(const TrainState& state, size_t number);
  void log_progress(const TrainState& state);
  void write_metrics(const TrainState& state);
  std::string describe_improvement(const TrainState& state, bool improved) const;
  void warn_of_low_bleu(const ValidationResult& result);

  bool writes_;
  std::optional<MetricsLog> metrics_;
  std::map<size_t, Json> reported_stages_;  // entries of metrics.jsonl by number of the stage
  std::optional<EventWriter> events_;
  std::optional<ProgressLine> line_;
  Period end_;
  Task task_;
  std::string deciding_metric_;
  int early_stopping_;  // patience in validations; 0: no early stopping
  bool warned_of_low_bleu_ = false;
  Clock clock_;
  double start_;
  Goal goal_;
  ProgressPace pace_;
  Window window_;
  uint64_t tokens_ = 0;  // tokens of this job
  double seconds_ = 0, flops_ = 0;
  MemoryUse memory_;  // at the last line of the log
};

}  // namespace gyre
