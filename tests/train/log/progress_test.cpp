// The progress line: Marian's shape, rewriting, time left; the clock and the stream are the test's own.
#include "train/log/progress.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

// A stream that remembers what was printed on it.
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

TEST_CASE("the log line has Marian's shape") {
  const TrainProgress progress{1, 1000, 79760, 2.81, 198.3, 10025.85, 1.2, 7.5e-05};
  CHECK(format_progress(progress) ==
        "Ep. 1 : Up. 1000 : Sen. 79,760 : Cost 2.8100 : Time 198.30s : 10025.85 words/s : gNorm 1.2 : L.r. 7.5e-05");
  TrainProgress large;
  for (const auto& [sentences, text] :
       {std::pair(0, "Sen. 0 "), {999, "Sen. 999 "}, {1000, "Sen. 1,000 "}, {1234567, "Sen. 1,234,567 "}}) {
    large.sentences = sentences;
    CHECK(format_progress(large).find(text) != std::string::npos);
  }
}

TEST_CASE("durations show two units") {
  CHECK(format_duration(0) == "0s");
  CHECK(format_duration(59.6) == "1m 00s");
  CHECK(format_duration(725) == "12m 05s");
  CHECK(format_duration(3 * 3600 + 7 * 60 + 59) == "3h 07m");
  CHECK(format_duration(2 * 86400 + 4 * 3600) == "2d 04h");
}

TEST_CASE("a terminal's line is rewritten in place, with the time left") {
  const TemporaryDirectory directory;
  const Printed printed(directory / "printed");
  double now = 100;
  {
    ProgressLine line(1000, 200, {printed.stream(), true, 80, [&] { return now; }});
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

TEST_CASE("a long line is cut to the terminal") {
  const TemporaryDirectory directory;
  const Printed printed(directory / "printed");
  ProgressLine line(10, 0, {printed.stream(), true, 20, [] { return 0.0; }});
  line.show(0, std::string(50, 'x'));
  CHECK(printed.text() == "\r\x1b[K" + std::string(19, 'x'));
}

TEST_CASE("without a terminal nothing is printed") {
  const TemporaryDirectory directory;
  const Printed printed(directory / "printed");
  {
    ProgressLine line(10, 0, {printed.stream(), false, 80, [] { return 0.0; }});
    line.show(5, "text");
  }
  CHECK(printed.text().empty());
}
