#include "tools/line_filter.h"

#include <doctest/doctest.h>

#include "gyre/core/error.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

TEST_CASE("line filters keep the order of the lines for any number of threads") {
  TemporaryDirectory directory;
  std::string text, expected;
  for (int line = 0; line < 10'000; ++line) {
    text += std::to_string(line) + "\r\n";
    expected += "<" + std::to_string(line) + ">\n";
  }
  write_file(directory / "in", "\xEF\xBB\xBF" + text);
  for (const int threads : {1, 3}) {
    ThreadsInScope scope(threads);
    const FilterCounts counts = filter_lines(directory / "in", directory / "out",
                                             [](const std::string& line) { return concat("<", line, ">"); });
    CHECK(read_file(directory / "out") == expected);
    CHECK(counts.lines == 10'000);
    CHECK(counts.bytes == text.size() - 20'000);
  }
}

TEST_CASE("line filters: a result of several lines is an error, which names the first line and leaves no output") {
  TemporaryDirectory directory;
  write_file(directory / "in", "one\ntwo\nthree");
  const std::string error = error_of([&] {
    filter_lines(directory / "in", directory / "out",
                 [](const std::string& line) { return line == "one" ? line : line + "\n"; });
  });
  CHECK(error == (directory / "in").string() + ":2: expected one line as the result, got a line break");
  CHECK(!std::filesystem::exists(directory / "out"));
}
