#include "tools/commands/decoding_run.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/temporary_directory.h"

using namespace gyre;

TEST_CASE_FIXTURE(InDirectory, "windows: every item is processed once, in order and with its number") {
  OutputLines output(directory / "out");
  for (const int items : {0, 1, 6, 7}) {
    int read = 0;
    std::vector<int> sizes;
    const auto next = [&](int& item) {
      item = read;
      return read < items && ++read > 0;
    };
    int processed = 0;
    const uint64_t count = for_each_window<int>(3, output, next, [&](const std::vector<int>& window, uint64_t first) {
      sizes.push_back(int(window.size()));
      CHECK(first == uint64_t(processed));
      for (const int item : window) CHECK(item == processed++);
    });
    CHECK(count == uint64_t(items));
    CHECK(processed == items);
    if (items == 7) CHECK(sizes == std::vector<int>{3, 3, 1});
  }
}

TEST_CASE_FIXTURE(InDirectory, "windows: items before a failure are processed") {
  OutputLines output(directory / "out");
  int read = 0, processed = 0;
  const auto next = [&](int& item) {
    if (read == 5) throw Error("a bad item");
    item = read++;
    return true;
  };
  const auto process = [&](const std::vector<int>& window, uint64_t) { processed += int(window.size()); };
  CHECK_THROWS_WITH_AS(for_each_window<int>(3, output, next, process), "a bad item", Error);
  CHECK(processed == 5);
}

TEST_CASE_FIXTURE(InDirectory, "input lines: bad ones are errors, or are skipped and counted") {
  write_file(directory / "in", "one\ntw\xFFo\nthree\n\n");
  std::string line;
  InputLines strict(directory / "in");
  CHECK(strict.next(line));
  CHECK_THROWS_WITH_AS(strict.next(line), ((directory / "in").string() + ":2: not UTF-8 from byte 3 on").c_str(),
                       Error);
  InputLines lenient(directory / "in", OnBadLine::skip);
  std::string lines, skipped;
  while (lenient.next(line)) {
    if (line == "three") lenient.reject(BadLine::too_long, "too long");
    lines += line + "|";
    skipped += lenient.is_skipped() ? 's' : '.';
  }
  CHECK(lines == "one||three||");
  CHECK(skipped == ".ss.");
  CHECK(lenient.skipped() == 2);
  CHECK(lenient.window(7) == 7);
}

TEST_CASE("input lines: the time of waiting for them is known") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    CHECK(write(ends[1], "late\n", 5) == 5);
    close(ends[1]);
  });
  InputLines lines(concat("/dev/fd/", ends[0]));
  std::string line;
  CHECK(lines.next(line));
  writer.join();
  CHECK(lines.seconds() > 0.01);
  close(ends[0]);
}
