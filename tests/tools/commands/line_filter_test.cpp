#include "tools/commands/line_filter.h"

#include <doctest/doctest.h>

#include "gyre/core/error.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

TEST_CASE_FIXTURE(InDirectory, "line filters keep the order of the lines for any number of threads") {
  std::string text, expected;
  for (int line = 0; line < 10'000; ++line) {
    text += std::to_string(line) + "\r\n";
    expected += "<" + std::to_string(line) + ">\n";
  }
  write_file(directory / "in", "\xEF\xBB\xBF" + text);
  for (const int threads : {1, 3}) {
    ThreadsInScope scope(threads);
    const LineFilter filter{directory / "in", directory / "out", {}};
    const FilterCounts counts = filter.run([](const std::string& line) { return concat("<", line, ">"); });
    CHECK(read_file(directory / "out") == expected);
    CHECK(counts.lines == 10'000);
    CHECK(counts.bytes == text.size() - 20'000);
  }
}

TEST_CASE("line filters: a result of several lines is an error, which names the first line and leaves no output") {
  TemporaryDirectory directory;
  write_file(directory / "in", "one\ntwo\nthree");
  const LineFilter filter{directory / "in", directory / "out", {}};
  const std::string error =
      error_of([&] { filter.run([](const std::string& line) { return line == "one" ? line : line + "\n"; }); });
  CHECK(error == (directory / "in").string() + ":2: expected one line as the result, got a line break");
  CHECK(!std::filesystem::exists(directory / "out"));
}

TEST_CASE_FIXTURE(InDirectory, "line filters: the output may not be an input") {
  write_file(directory / "in", "one\n");
  write_file(directory / "vocabulary", "");
  const auto copy = [](const std::string& line) { return line; };
  const LineFilter onto_itself{directory / "in", directory / "in", {}};
  CHECK(contains(error_of([&] { onto_itself.run(copy); }), "is also an input"));
  const LineFilter onto_other{directory / "in", directory / "vocabulary", {}};
  CHECK(contains(error_of([&] { onto_other.run(copy, {directory / "vocabulary"}); }), "is also an input"));
  CHECK(read_file(directory / "in") == "one\n");
}
