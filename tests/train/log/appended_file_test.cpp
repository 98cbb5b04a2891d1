// Logs on a temporarily full disk, which a limit on the file size simulates.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>

#include "gyre/core/error.h"
#include "gyre/train/log/metrics_log.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("records that a full disk rejects are kept and written later; the file never has a partial record") {
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // writes then fail with an error
  const TemporaryDirectory directory;
  const Path path = directory / "log";
  AppendedFile file(path, "[test]");
  file.append("one\n");
  {
    const FullDisk disk(7);
    file.append("second\n");
    CHECK(read_file(path) == "one\n");
    file.append("third\n");
    CHECK(read_file(path) == "one\n");
  }
  file.append("4\n");
  CHECK(read_file(path) == "one\nsecond\nthird\n4\n");
  std::signal(SIGXFSZ, handler);
}

TEST_CASE("the error for a file that cannot be opened names it") {
  CHECK_THROWS_WITH_AS(AppendedFile("/nowhere/log", "[test]"),
                       "[test] cannot open /nowhere/log for writing: No such file or directory", Error);
}
