// metrics.jsonl: reads back appended entries, with incomplete lines and resumed runs.
#include "gyre/train/log/metrics_log.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "tests/temporary_directory.h"

using namespace gyre;

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

TEST_CASE("entries are lines, and their keys keep their order") {
  const TemporaryDirectory directory;
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

TEST_CASE("an incomplete last line is ignored by readers and removed by the next writer") {
  const TemporaryDirectory directory;
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

TEST_CASE("reopening keeps the existing entries") {
  const TemporaryDirectory directory;
  const Path path = directory / "metrics.jsonl";
  MetricsLog(path).append(train(10));
  MetricsLog(path).append(train(20));
  CHECK(updates_of(read_metrics(path), "train") == std::vector{10, 20});
}

TEST_CASE("a resume event drops the entries beyond the checkpoint") {
  const TemporaryDirectory directory;
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

TEST_CASE("a resume event also drops earlier resume events beyond it") {
  const TemporaryDirectory directory;
  MetricsLog log(directory / "metrics.jsonl");
  log.append(train(10));
  log.append({{"event", "resume"}, {"updates", 10}});
  log.append(train(20));
  log.append({{"event", "resume"}, {"updates", 0}});
  CHECK(updates_of(read_metrics(directory / "metrics.jsonl"), "resume") == std::vector{0});
}

TEST_CASE("the error for an invalid line names the file and the line") {
  const TemporaryDirectory directory;
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
