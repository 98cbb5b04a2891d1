// The run's logger: the messages of each rank in train.log.
#include <doctest/doctest.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>

#include "gyre/core/error.h"
#include "gyre/train/log/console.h"
#include "tests/temporary_directory.h"
#include "tests/train/log/logger_guard.h"

using namespace gyre;
using test::LoggerGuard;

TEST_CASE("a single process logs from level info on, with time and level, and appends to the file") {
  const LoggerGuard kept;
  const TemporaryDirectory directory;
  const Path file = directory / "train.log";
  for (int i = 0; i < 2; ++i) {
    set_up_logging({.file = file, .quiet = true});  // quiet affects only the console
    spdlog::debug("hidden");
    spdlog::info("shown {}", i);
    // Read before the logger is destroyed: every line is written at once.
    CHECK(read_file(file).ends_with("] [info] shown " + std::to_string(i) + "\n"));
  }
  const std::string text = read_file(file);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find("hidden") == std::string::npos);
  // "[2026-01-31 12:00:00] [info] shown 0": only the format of the time is checked.
  std::string shape = text.substr(0, 21);
  for (char& c : shape) c = std::isdigit(static_cast<unsigned char>(c)) ? '0' : c;
  CHECK(shape == "[0000-00-00 00:00:00]");
}

TEST_CASE("lines name their rank, and ranks other than 0 only log warnings and errors") {
  const LoggerGuard kept;
  const TemporaryDirectory directory;
  const Path file = directory / "train.log";
  set_up_logging({.file = file, .rank = 0, .ranks = 4, .quiet = true});
  spdlog::info("from zero");
  set_up_logging({.file = file, .rank = 3, .ranks = 4, .quiet = true});
  spdlog::info("hidden");
  CHECK(spdlog::default_logger()->sinks().front()->level() == spdlog::level::warn);
  spdlog::default_logger()->sinks().front()->set_level(spdlog::level::off);  // no log lines in the output of the tests
  spdlog::warn("slow");
  const std::string text = read_file(file);
  CHECK(text.find("[info] [rank 0/4] from zero\n") != std::string::npos);
  CHECK(text.find("hidden") == std::string::npos);
  CHECK(text.ends_with("[warning] [rank 3/4] slow\n"));
}

TEST_CASE("the error for a log file that cannot be opened names it") {
  const LoggerGuard kept;
  const TemporaryDirectory directory;
  CHECK_THROWS_WITH_AS(set_up_logging({.file = directory.path()}), doctest::Contains(directory.path().c_str()), Error);
}
