// What a run and a long command write to the console: log lines, and progress with the time that is left.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "gyre/core/io/file.h"

namespace gyre {

// spdlog's default logger for a run writes to the console (stderr) and to the run's train.log.
struct LogOptions {
  Path file;  // empty: console only
  int rank = 0;
  int ranks = 1;
  bool quiet = false;  // the console shows only warnings and errors; the file still gets all messages
};

// Replaces the default logger: call it before spdlog::info() and the like. Rank 0 logs from level info on, other ranks
// from level warning on. Several ranks append to the same file, so each line names its rank; a single process omits it.
//   [2026-01-31 12:00:00] [info] [rank 0/4] message
// Throws an Error if the file cannot be opened.
void set_up_logging(const LogOptions& options);

// The use of the machine in a progress line. Zeros are unknown, and not shown.
struct MachineProgress {
  double flops_per_second = 0;
  double share = 0;              // of the limit of matrix products
  uint64_t memory = 0, gpu = 0;  // bytes
};

// "0.183 TFLOP/s (52 %)"; the share is missing if it is unknown.
std::string format_flops(double flops_per_second, double share);
// " : 0.183 TFLOP/s (52 %) : RAM 1.25 GiB : GPU 27.8 GiB"
std::string format_machine(const MachineProgress& machine);

// Progress of a run, for a line of the log in Marian's format. Sums and rates cover the time since the last report,
// counts the time since the start.
struct TrainProgress {
  int64_t epoch = 1;
  int64_t updates = 0;
  std::string item = "sentence";  // unit of `count`
  int64_t count = 0;
  std::optional<double> cost;  // nats per prediction; nullopt without predictions
  double seconds = 0;          // wall time
  double tokens_per_second = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  MachineProgress machine{};
  std::optional<double> seconds_left = std::nullopt;
};

// "Ep. 1 : Up. 1000 : 79,760 pairs : Cost 2.8100 : Time 198.30s : 10025.85 tokens/s : gNorm 1.2 : L.r. 7.5e-05
//  : 0.183 TFLOP/s (52 %) : RAM 1.25 GiB : 12m 05s left"
std::string format_progress(const TrainProgress& progress);

// "79,760".
std::string with_commas(int64_t number);

// "45s", "12m 05s", "3h 07m", "2d 04h".
std::string format_duration(double seconds);

// The end of a task: a count to reach, a time limit, or both.
struct Goal {
  int64_t total = 0;  // total in any unit (updates, sentences); 0: no count to reach
  int64_t first = 0;  // the count at the start
  double limit_seconds = std::numeric_limits<double>::infinity();  // limit since the start

  // Time until the earlier of the two ends, at the mean rate since the start. nullopt before any progress.
  std::optional<double> seconds_left(int64_t done, double elapsed_seconds) const;
};

// Decides when the log gets a progress line in addition to those of --disp-freq: after the first update, then at
// intervals that start at 2 s and double up to `longest_seconds`. Times are in seconds since the start.
class ProgressPace {
 public:
  explicit ProgressPace(double longest_seconds) : longest_(longest_seconds) {}  // 0: never
  bool due(double now) const;
  void shown(double now) { shown_ = now; }

 private:
  double longest_;
  std::optional<double> shown_;  // time of the last line
};

// Returns to the beginning of the line and erases it. The console's log lines begin with it (train/log/console.h), so
// that they overwrite a progress line.
inline constexpr std::string_view kEraseLine = "\r\x1b[K";

// The output of a progress line. system() returns stderr with the properties of its terminal.
struct ProgressSink {
  std::FILE* stream = stderr;
  bool terminal = false;
  int columns = 80;               // longer lines are truncated: a wrapped line cannot be rewritten
  std::function<double()> clock;  // seconds, monotonic

  static ProgressSink system();
};

// A progress line with the remaining time, rewritten at most ten times a second. Prints nothing without a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(const Goal& goal, ProgressSink sink = ProgressSink::system());
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(int64_t done, std::string_view text);  // `done`: in the unit of the goal's total
  void clear();

 private:
  Goal goal_;
  ProgressSink sink_;
  double start_, shown_ = 0;
  bool visible_ = false;
};

// Progress of a command on standard error, if it takes long: after two seconds a line rewritten in place on a terminal,
// elsewhere lines after 10, 20 and 40 s and so on, at least once a minute. "12,800 of 40,000 lines : 206 lines/s : 2m
// 12s left".
class WorkProgress {
 public:
  // total: 0 if it is not known.
  explicit WorkProgress(std::string unit, int64_t total = 0, ProgressSink sink = ProgressSink::system());

  // Not thread-safe.
  void show(int64_t done);
  void clear() { line_.clear(); }  // makes room for other output to the terminal

 private:
  std::string unit_;
  Goal goal_;
  ProgressSink sink_;
  ProgressLine line_;
  double start_, next_;
};

}  // namespace gyre
