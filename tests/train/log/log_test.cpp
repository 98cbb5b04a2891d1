// The run's logger: the messages of each rank in train.log.
#include <doctest/doctest.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/log/console.h"
#include "gyre/train/log/metrics_log.h"
#include "tests/core/io/file_size_limit.h"
#include "tests/source_dir.h"
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

// ---- Logs on a temporarily full disk, which a limit on the file size simulates -------------------------------------

TEST_CASE("records that a full disk rejects are kept and written later; the file never has a partial record") {
  const TemporaryDirectory directory;
  const Path path = directory / "log";
  AppendedFile file(path, "[test]");
  file.append("one\n");
  {
    const FileSizeLimit limit(7);
    file.append("second\n");
    CHECK(read_file(path) == "one\n");
    file.append("third\n");
    CHECK(read_file(path) == "one\n");
  }
  file.append("4\n");
  CHECK(read_file(path) == "one\nsecond\nthird\n4\n");
}

TEST_CASE("the error for a file that cannot be opened names it") {
  CHECK_THROWS_WITH_AS(AppendedFile("/nowhere/log", "[test]"),
                       "[test] cannot open /nowhere/log for writing: No such file or directory", Error);
}

// ---- metrics.jsonl: reads back appended entries, with incomplete lines and resumed runs ----------------------------

namespace {

Json train(int updates, double loss = 1) { return {{"event", "train"}, {"updates", updates}, {"loss", loss}}; }

std::vector<int> updates_of(const std::vector<Json>& entries, const std::string& event) {
  std::vector<int> updates;
  for (const auto& entry : entries) {
    if (entry["event"] == event) updates.push_back(entry["updates"]);
  }
  return updates;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "entries are lines, and their keys keep their order") {
  const Path path = directory / "metrics.jsonl";
  MetricsLog log(path);
  log.append({{"event", "start"}, {"z", 1}, {"a", "line\nbreak"}});
  // Each line is written at once, before the log is closed.
  CHECK(read_file(path) == "{\"event\":\"start\",\"z\":1,\"a\":\"line\\nbreak\"}\n");
  log.append(train(10, std::nan("")));
  log.append({{"event", "end"}, {"name", "\xff"}});
  const auto entries = read_metrics(path);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0]["a"] == "line\nbreak");
  CHECK(entries[1]["loss"].is_null());
}

TEST_CASE_FIXTURE(InDirectory, "an incomplete last line is ignored by readers and removed by the next writer") {
  const Path path = directory / "metrics.jsonl";
  const std::string whole = train(10).dump() + "\n";
  // Truncate at every byte of the second line, including just before its line break.
  const std::string second = train(20).dump();
  for (size_t bytes = 1; bytes <= second.size(); ++bytes) {
    write_file(path, whole + second.substr(0, bytes));
    CHECK(updates_of(read_metrics(path), "train") == std::vector{10});
    MetricsLog(path).append(train(30));
    CHECK(read_file(path) == whole + train(30).dump() + "\n");
  }
  write_file(path, "{\"ev");  // no complete line
  CHECK(read_metrics(path).empty());
  MetricsLog(path).append(train(30));
  CHECK(updates_of(read_metrics(path), "train") == std::vector{30});
}

TEST_CASE_FIXTURE(InDirectory, "reopening keeps the existing entries") {
  const Path path = directory / "metrics.jsonl";
  MetricsLog(path).append(train(10));
  MetricsLog(path).append(train(20));
  CHECK(updates_of(read_metrics(path), "train") == std::vector{10, 20});
}

TEST_CASE_FIXTURE(InDirectory, "a resume event drops the entries beyond the checkpoint") {
  MetricsLog log(directory / "metrics.jsonl");
  log.append({{"event", "start"}});
  for (const int updates : {10, 20, 30}) log.append(train(updates));
  log.append({{"event", "valid"}, {"updates", 30}, {"loss", 2}});
  log.append({{"event", "resume"}, {"updates", 20}});
  for (const int updates : {30, 40}) log.append(train(updates, 5));
  log.append({{"event", "resume"}, {"updates", 35}});
  log.append(train(41));
  const auto entries = read_metrics(directory / "metrics.jsonl");
  CHECK(updates_of(entries, "train") == std::vector{10, 20, 30, 41});
  CHECK(updates_of(entries, "valid").empty());
  CHECK(updates_of(entries, "resume") == std::vector{20, 35});
  CHECK(entries.front()["event"] == "start");
  CHECK(entries[4]["loss"] == 5);  // update 30 of the second attempt
}

TEST_CASE_FIXTURE(InDirectory, "a resume event also drops earlier resume events beyond it") {
  MetricsLog log(directory / "metrics.jsonl");
  log.append(train(10));
  log.append({{"event", "resume"}, {"updates", 10}});
  log.append(train(20));
  log.append({{"event", "resume"}, {"updates", 0}});
  CHECK(updates_of(read_metrics(directory / "metrics.jsonl"), "resume") == std::vector{0});
}

TEST_CASE_FIXTURE(InDirectory, "the error for an invalid line names the file and the line") {
  const Path path = directory / "metrics.jsonl";
  for (const char* damaged : {"{\"event\":", "17", "", "[1]"}) {
    write_file(path, train(10).dump() + "\n" + damaged + "\n" + train(20).dump() + "\n");
    CHECK_THROWS_WITH_AS(read_metrics(path), doctest::Contains("metrics.jsonl:2: expected a JSON object"), Error);
  }
  write_file(path, "{\"event\":\"resume\"}\n");
  CHECK_THROWS_WITH_AS(read_metrics(path), doctest::Contains("metrics.jsonl:1: expected a resume event"), Error);
  write_file(path, "{\"event\":3}\n");
  CHECK_THROWS_WITH_AS(read_metrics(path), doctest::Contains("metrics.jsonl:1: expected an \"event\""), Error);
  write_file(path, "{\"event\":\"train\",\"updates\":\"3\"}\n");
  CHECK_THROWS_WITH_AS(read_metrics(path), doctest::Contains("metrics.jsonl:1: expected a number of"), Error);
  CHECK_THROWS_WITH_AS(read_metrics(directory / "none.jsonl"), doctest::Contains("none.jsonl"), Error);
  CHECK_THROWS_WITH_AS(MetricsLog(directory / "none" / "metrics.jsonl"), doctest::Contains("none/metrics.jsonl"),
                       Error);
}

// ---- Event files ---------------------------------------------------------------------------------------------------
// Event files, compared byte for byte with those of TensorBoard's classes (golden/make_events.py, which can also read
// event files).

namespace {

std::string golden_hex() {
  std::string hex = read_file(source_dir() / "tests/train/log/golden/events.hex");
  std::erase(hex, '\n');
  return hex;
}

std::string to_hex(const std::string& bytes) {
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "an event file equals TensorBoard's byte for byte") {
  EventWriter writer(directory / "new", [] { return 1700000000.25; });
  writer.scalar("train/loss", 9.125, 0);
  writer.scalar("train/loss", 0.1, 1);
  writer.scalar("zero", 0, 127);
  writer.scalar("überlange/" + std::string(200, 'x'), -1e30, 128);
  writer.scalar("inf", std::numeric_limits<double>::infinity(), 3'000'000'000'000);
  writer.session_start(129);
  writer.scalar("negative step", 1, -1);
  writer.flush();
  CHECK(to_hex(read_file(writer.path())) == golden_hex());
}

TEST_CASE_FIXTURE(InDirectory, "every writer creates a new file with the name prefix that TensorBoard expects") {
  const auto clock = [] { return 1700000000.25; };
  const EventWriter first(directory.path(), clock), second(directory.path(), clock);
  CHECK(first.path() != second.path());
  CHECK(first.path().filename().string().starts_with("events.out.tfevents.1700000000."));
  // The header is written before the first flush: a run that dies early leaves a readable file.
  CHECK(std::filesystem::file_size(second.path()) > 0);
}

TEST_CASE_FIXTURE(InDirectory, "the error for a directory that cannot be created names it") {
  write_file(directory / "file", "");
  CHECK_THROWS_WITH_AS(EventWriter(directory / "file" / "below"), doctest::Contains("file/below"), Error);
}

TEST_CASE("times are ISO 8601 in UTC, in any time zone") {
  CHECK(utc_text(0) == "1970-01-01T00:00:00.000Z");
  CHECK(utc_text(1709210096.25) == "2024-02-29T12:34:56.250Z");
  CHECK(utc_text(1709210096.9999) == "2024-02-29T12:34:56.999Z");
}
