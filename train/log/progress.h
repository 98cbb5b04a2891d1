// What a run says about its progress: a line in Marian's shape for the log, and a line on the terminal that is
// rewritten in place.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace gyre {

// Sums and rates are over the time since the last report, counts since the start.
struct TrainProgress {
  int64_t epoch = 1;
  int64_t updates = 0;
  std::string item = "sentence";  // what is counted
  int64_t count = 0;
  std::optional<double> cost;  // nats per prediction; none where nothing was predicted
  double seconds = 0;          // wall time
  double tokens_per_second = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  std::optional<double> seconds_left = std::nullopt;
};

// "Ep. 1 : Up. 1000 : 79,760 pairs : Cost 2.8100 : Time 198.30s : 10025.85 tokens/s : gNorm 1.2 : L.r. 7.5e-05 : 12m
// 05s left"
std::string format_progress(const TrainProgress& progress);

// "45s", "12m 05s", "3h 07m", "2d 04h".
std::string format_duration(double seconds);

// The end of some work: a count to reach, a time limit, or both.
struct Goal {
  int64_t total = 0;  // in any one unit (updates, sentences); 0: no such end
  int64_t first = 0;  // the count at the start
  double limit_seconds = std::numeric_limits<double>::infinity();  // since the start

  // Until the earlier of the two ends, at the mean rate since the start. None while nothing is done.
  std::optional<double> seconds_left(int64_t done, double elapsed_seconds) const;
};

// Decides when the log gets a progress line beside those of --disp-freq: after the first update, then after 2 s, and at
// intervals that double up to `longest_seconds`. Times are seconds since the start.
class ProgressPace {
 public:
  explicit ProgressPace(double longest_seconds) : longest_(longest_seconds) {}  // 0: never
  bool due(double now) const;
  void shown(double now) { shown_ = now; }

 private:
  double longest_;
  std::optional<double> shown_;  // when the last line came
};

// Seconds on a clock that is never set back.
double monotonic_seconds();

// Returns to the line's beginning and wipes it; the console's log lines begin with it (train/log/logger.h), so they
// never append to a progress line.
inline constexpr std::string_view kEraseLine = "\r\x1b[K";

// Where a progress line goes; the defaults ask the system.
struct ProgressSink {
  std::FILE* stream = stderr;
  bool terminal = false;
  int columns = 80;               // longer lines are cut: a wrapped line cannot be rewritten
  std::function<double()> clock;  // seconds, monotonic

  static ProgressSink system();
};

// One line on a terminal, rewritten in place at most ten times a second, with the time left. Without a terminal it
// prints nothing.
class ProgressLine {
 public:
  explicit ProgressLine(const Goal& goal, ProgressSink sink = ProgressSink::system());
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(int64_t done, std::string_view text);  // `done` counts as the goal's total does
  void clear();

 private:
  Goal goal_;
  ProgressSink sink_;
  double start_, shown_ = 0;
  bool visible_ = false;
};

}  // namespace gyre
