#include "tools/decoding_run.h"

#include <doctest/doctest.h>

#include "tests/temporary_directory.h"

using namespace gyre;

TEST_CASE("windows: every item is processed once, in order and with its number") {
  TemporaryDirectory directory;
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
