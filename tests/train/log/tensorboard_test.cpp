// Event files, compared byte for byte with those of TensorBoard's classes (golden/make_events.py, which can also read
// event files).
#include <doctest/doctest.h>

#include <limits>

#include "gyre/core/error.h"
#include "gyre/train/log/metrics_log.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"

using namespace gyre;

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

TEST_CASE("an event file equals TensorBoard's byte for byte") {
  const TemporaryDirectory directory;
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

TEST_CASE("every writer creates a new file with the name prefix that TensorBoard expects") {
  const TemporaryDirectory directory;
  const auto clock = [] { return 1700000000.25; };
  const EventWriter first(directory.path(), clock), second(directory.path(), clock);
  CHECK(first.path() != second.path());
  CHECK(first.path().filename().string().starts_with("events.out.tfevents.1700000000."));
  // The header is written before the first flush: a run that dies early leaves a readable file.
  CHECK(std::filesystem::file_size(second.path()) > 0);
}

TEST_CASE("the error for a directory that cannot be created names it") {
  const TemporaryDirectory directory;
  write_file(directory / "file", "");
  CHECK_THROWS_WITH_AS(EventWriter(directory / "file" / "below"), doctest::Contains("file/below"), Error);
}
