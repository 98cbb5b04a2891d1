// The progress line: Marian's format, rewriting, remaining time. The tests provide the clock and the stream.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gyre/train/log/console.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

// A stream that records its output.
class Printed {
 public:
  explicit Printed(const Path& path) : path_(path), stream_(std::fopen(path.c_str(), "wb")) {}
  ~Printed() { std::fclose(stream_); }
  std::FILE* stream() const { return stream_; }
  std::string text() const {
    std::fflush(stream_);
    return read_file(path_);
  }

 private:
  Path path_;
  std::FILE* stream_;
};

}  // namespace

TEST_CASE("the log line has Marian's format") {
  const TrainProgress progress{1, 1000, "pair", 79760, 2.81, 198.3, 10025.85, 1.2, 7.5e-05};
  CHECK(format_progress(progress) ==
        "Ep. 1 : Up. 1000 : 79,760 pairs : Cost 2.8100 : Time 198.30s : 10025.85 tokens/s : gNorm 1.2 : L.r. 7.5e-05");
  CHECK(format_progress({}).find(" : Cost none : ") != std::string::npos);
  TrainProgress large;
  for (const auto& [count, text] : {std::pair(0, ": 0 sentences "),
                                    {1, ": 1 sentence "},
                                    {999, ": 999 sentences "},
                                    {1000, ": 1,000 sentences "},
                                    {1234567, ": 1,234,567 sentences "}}) {
    large.count = count;
    CHECK(format_progress(large).find(text) != std::string::npos);
  }
}

TEST_CASE("the log line has what is known of the use of the machine") {
  TrainProgress progress;
  progress.machine = {.flops_per_second = 1.83e11};
  CHECK(format_progress(progress).ends_with(" : L.r. 0 : 0.183 TFLOP/s"));
  progress.machine = {
      .flops_per_second = 1.25e15, .share = 0.5234, .memory = uint64_t{5} << 28, .gpu = uint64_t{113} << 30};
  progress.seconds_left = 725;
  CHECK(format_progress(progress).ends_with(
      " : L.r. 0 : 1250 TFLOP/s (52.3 %) : RAM 1.25 GiB : GPU 113 GiB : 12m 05s left"));
  CHECK(format_flops(1.5e8, 0) == "0.00015 TFLOP/s");
}

TEST_CASE("the log line ends with the remaining time, if known") {
  TrainProgress progress;
  CHECK(format_progress(progress).ends_with(" : L.r. 0"));
  progress.seconds_left = 725;
  CHECK(format_progress(progress).ends_with(" : L.r. 0 : 12m 05s left"));
}

TEST_CASE("the remaining time is that to the earlier of two ends, at the mean rate since the start") {
  const Goal counted{.total = 1000, .first = 200};
  CHECK_FALSE(counted.seconds_left(200, 10));
  CHECK(counted.seconds_left(300, 10) == 70);  // 100 in 10 s
  CHECK(counted.seconds_left(1000, 10) == 0);
  CHECK(counted.seconds_left(1001, 10) == 0);  // tokens may exceed the total by part of a batch
  const Goal timed{.limit_seconds = 60};
  CHECK(timed.seconds_left(1, 10) == 50);
  CHECK(timed.seconds_left(1, 70) == 0);
  const Goal both{.total = 1000, .first = 0, .limit_seconds = 60};
  CHECK(both.seconds_left(100, 10) == 50);
  CHECK(both.seconds_left(500, 10) == 10);
  CHECK_FALSE(Goal{}.seconds_left(100, 10));  // no known end: early stopping
}

TEST_CASE("progress lines appear after the first update, then at intervals that double up to the longest") {
  const auto shown = [](double longest, double first_update, double update, int updates) {
    ProgressPace pace(longest);
    std::vector<double> times;
    for (int i = 0; i < updates; ++i) {
      const double now = first_update + update * i;
      if (!pace.due(now)) continue;
      pace.shown(now);
      times.push_back(now);
    }
    return times;
  };
  CHECK(shown(30, 0.5, 0.5, 260) == std::vector<double>{0.5, 2.5, 5, 10, 20, 40, 70, 100, 130});
  CHECK(shown(5, 0.5, 0.5, 50) == std::vector<double>{0.5, 2.5, 5, 10, 15, 20, 25});
  CHECK(shown(30, 50, 50, 4) == std::vector<double>{50, 100, 150, 200});  // slow updates: a line for each
  CHECK(shown(0, 1, 1, 100).empty());
}

TEST_CASE("durations show two units") {
  CHECK(format_duration(0) == "0s");
  CHECK(format_duration(59.6) == "1m 00s");
  CHECK(format_duration(725) == "12m 05s");
  CHECK(format_duration(3 * 3600 + 7 * 60 + 59) == "3h 07m");
  CHECK(format_duration(2 * 86400 + 4 * 3600) == "2d 04h");
}

TEST_CASE_FIXTURE(InDirectory, "the line on a terminal is rewritten in place, with the remaining time") {
  const Printed printed(directory / "printed");
  double now = 100;
  {
    ProgressLine line({.total = 1000, .first = 200}, {printed.stream(), true, 80, [&] { return now; }});
    line.show(200, "cost 9");
    CHECK(printed.text() == "\r\x1b[Kcost 9");  // no rate known yet
    now += 0.05;
    line.show(210, "too soon");
    now += 9.95;
    line.show(300, "cost 8");  // 100 in 10 s: 700 more take 70 s
    CHECK(printed.text() == "\r\x1b[Kcost 9\r\x1b[Kcost 8 : 1m 10s left");
    line.clear();
    line.clear();
    CHECK(printed.text() == "\r\x1b[Kcost 9\r\x1b[Kcost 8 : 1m 10s left\r\x1b[K");
    line.show(301, "again");
  }
  CHECK(printed.text().ends_with("left\r\x1b[K"));
}

TEST_CASE_FIXTURE(InDirectory, "a long line is truncated to the width of the terminal") {
  const Printed printed(directory / "printed");
  ProgressLine line({.total = 10}, {printed.stream(), true, 20, [] { return 0.0; }});
  line.show(0, std::string(50, 'x'));
  CHECK(printed.text() == "\r\x1b[K" + std::string(19, 'x'));
}

TEST_CASE_FIXTURE(InDirectory, "without a terminal nothing is printed") {
  const Printed printed(directory / "printed");
  {
    ProgressLine line({.total = 10}, {printed.stream(), false, 80, [] { return 0.0; }});
    line.show(5, "text");
  }
  CHECK(printed.text().empty());
}

TEST_CASE_FIXTURE(InDirectory, "work that takes long shows lines in growing intervals, or one line on a terminal") {
  double now = 100;
  const auto shown = [&](bool is_terminal, int64_t total) {
    const Printed printed(directory / "out");
    ProgressSink sink{.stream = printed.stream(), .terminal = is_terminal, .columns = 80, .clock = [&] { return now; }};
    {
      WorkProgress progress("lines", total, sink);
      const double start = now;
      for (const double second : {0.0, 1.0, 1.5, 10.0, 15.0, 20.0, 39.0, 41.0, 99.0, 120.0}) {
        now = start + second;
        progress.show(int64_t(1500 * second));
      }
    }
    return printed.text();
  };
  CHECK(shown(false, 0) ==
        "15,000 lines : 1500 lines/s\n30,000 lines : 1500 lines/s\n61,500 lines : 1500 lines/s\n"
        "148,500 lines : 1500 lines/s\n");
  CHECK(shown(false, 60000).starts_with("15,000 of 60,000 lines : 1500 lines/s : 30s left\n"));
  const std::string terminal = shown(true, 0);
  CHECK(terminal.starts_with(std::string(kEraseLine) + "15,000 lines : 1500 lines/s"));
  CHECK(terminal.ends_with(kEraseLine));
  CHECK(terminal.find('\n') == std::string::npos);
}
