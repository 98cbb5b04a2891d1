// What a run says about its progress: Marian's line for the log, and a line on the terminal that is rewritten in place.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace gyre {

// Sums and rates are over the time since the last report, counts since the start.
struct TrainProgress {
  int64_t epoch = 1;
  int64_t updates = 0;
  int64_t sentences = 0;
  double cost = 0;     // nats per target token
  double seconds = 0;  // wall time
  double words_per_second = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
};

// "Ep. 1 : Up. 1000 : Sen. 79,760 : Cost 2.8100 : Time 198.30s : 10025.85 words/s : gNorm 1.2 : L.r. 7.5e-05"
std::string format_progress(const TrainProgress& progress);

// "45s", "12m 05s", "3h 07m", "2d 04h".
std::string format_duration(double seconds);

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
  // `total` and the counts given to show() are in any one unit (updates, sentences). `done` is where counting begins.
  explicit ProgressLine(int64_t total, int64_t done = 0, ProgressSink sink = ProgressSink::system());
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(int64_t done, std::string_view text);
  void clear();

 private:
  std::string time_left(int64_t done) const;

  int64_t total_, first_;
  ProgressSink sink_;
  double start_, shown_ = 0;
  bool visible_ = false;
};

}  // namespace gyre
