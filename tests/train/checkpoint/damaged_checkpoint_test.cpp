// Checkpoints after damage: flipped bits, a full disk, a killed process.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <limits>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "tests/core/io/file_size_limit.h"
#include "tests/temporary_directory.h"
#include "tests/train/small_run.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

// Modifies the file in place, without a flush to disk.
void flip_bit(const Path& path, size_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
}

}  // namespace

TEST_CASE("resumable: none in an empty run, else the newest checkpoint") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  CHECK(!find_resumable(run.path()));
  SmallRun small;
  train_and_save(run, small, 1);
  const Path newest = train_and_save(run, small, 1);
  CHECK(find_resumable(run.path())->checkpoint == newest);
  CHECK(find_resumable(run.path())->skipped.empty());
}

TEST_CASE("resumable: a broken newer checkpoint is named and skipped") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small;
  const Path good = train_and_save(run, small, 1), broken = train_and_save(run, small, 1);
  std::string expected;
  SUBCASE("a flipped bit of a weight") {
    flip_bit(broken / "model.safetensors", fs::file_size(broken / "model.safetensors") * 8 - 5);
    expected = "expected checksum";
  }
  SUBCASE("a flipped bit of a moment") {
    flip_bit(broken / "optimizer.safetensors", fs::file_size(broken / "optimizer.safetensors") * 8 - 5);
    expected = "expected checksum";
  }
  SUBCASE("a flipped bit of the state") {
    const Path state = broken / "state.json";
    flip_bit(state, (read_file(state).find("\"updates\": 2") + 11) * 8);  // 2 becomes 3
    expected = "state.json: expected checksum";
  }
  SUBCASE("a truncated file") {
    fs::resize_file(broken / "optimizer.safetensors", 500);
    expected = "optimizer.safetensors";
  }
  SUBCASE("a missing file") {
    fs::remove(broken / "optimizer.safetensors");
    expected = "No such file";
  }
  SUBCASE("a missing state") {
    fs::remove(broken / "state.json");
    expected = "state.json";
  }
  SUBCASE("a missing tensor") {
    write_safetensors(broken / "model.safetensors", {{"layer.0.bias", small.parameters[2].value}});
    expected = "embedding.weight is missing";
  }
  SUBCASE("a different shape with the same bytes") {
    write_safetensors(broken / "model.safetensors", {{"embedding.weight", small.parameters[0].value.reshape({6, 10})},
                                                     {"layer.0.weight", small.parameters[1].value},
                                                     {"layer.0.bias", small.parameters[2].value}});
    expected = "embedding.weight: expected checksum";
  }
  const auto found = find_resumable(run.path());
  REQUIRE(found.has_value());
  CHECK(found->checkpoint == good);
  REQUIRE(found->skipped.size() == 1);
  INFO(found->skipped[0]);
  CHECK(contains(found->skipped[0], "step-00000002: "));
  CHECK(contains(found->skipped[0], expected));

  // Continuing from the valid checkpoint replaces the broken one.
  SmallRun resumed;
  resumed.state = load_checkpoint(good, resumed.parameters, resumed.optimizer);
  CHECK(train_and_save(run, resumed, 1) == broken);
  CHECK(find_resumable(run.path())->checkpoint == broken);
}

TEST_CASE("resumable: it is an error if all checkpoints are broken") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small;
  for (int i = 0; i < 2; ++i) fs::remove(train_and_save(run, small, 1) / "state.json");
  const std::string message = error_of([&] { find_resumable(run.path()); });
  CHECK(contains(message, "every checkpoint is broken"));
  CHECK(contains(message, "of 2, the newest is step-00000002: "));
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("verify: every flipped bit is detected, except in the white space of a header") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small;
  const Path saved = train_and_save(run, small, 1);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const Path path = saved / name;
    const std::string good = read_file(path);
    for (size_t bit = 3; bit < good.size() * 8; bit += 101) {
      if (good[bit / 8] == ' ' || good[bit / 8] == '\n') continue;
      // Skip the metadata at the beginning of a safetensors file: they do not affect the tensors.
      if (good.substr(0, bit / 8 + 1).find("embedding") == std::string::npos && good[0] != '{') continue;
      flip_bit(path, bit);
      INFO(name, " bit ", bit);
      CHECK(error_of([&] { verify_manifest(saved); }) != "no error");
      flip_bit(path, bit);
    }
  }
  CHECK_NOTHROW(verify_manifest(saved));
}

TEST_CASE("save: NaN weights are rejected, and the last checkpoint is unchanged") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small;
  const Path good = train_and_save(run, small, 1);
  small.parameters[2].value.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  ++small.state.progress.updates;
  CHECK(contains(error_of([&] { save_checkpoint(run, small.parameters, small.optimizer, small.state); }),
                 "layer.0.bias holds NaN"));
  CHECK(linked_checkpoint(run.path(), "last") == good);
  CHECK(list_checkpoints(run.path()).size() == 1);
}

TEST_CASE("save: on a full disk the earlier checkpoint is unchanged, and no temporary directory is left") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small;
  const Path good = train_and_save(run, small, 1);
  small.train(1);
  {
    const FileSizeLimit limit(600);
    const std::string message = error_of([&] { save_checkpoint(run, small.parameters, small.optimizer, small.state); });
    CHECK(contains(message, "model.safetensors: cannot write: File too large"));
  }
  CHECK(find_resumable(run.path())->checkpoint == good);
  CHECK(linked_checkpoint(run.path(), "last") == good);
  for (const auto& entry : fs::directory_iterator(checkpoints_path(run.path()))) {
    CHECK(!entry.path().filename().string().starts_with("."));
  }
}

TEST_CASE("save: killed at any time, a valid checkpoint remains, and none is incomplete") {
  const TemporaryDirectory directory;
  const Path path = directory / "run";
  for (const useconds_t delay : {500U, 2000U, 5000U, 9000U, 20000U}) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const RunDirectory run(path);
      SmallRun small;
      // No updates: their threads do not exist after a fork.
      for (uint64_t n = 1; n < 1000; ++n) {
        small.state.progress.updates = n % 7;
        save_checkpoint(run, small.parameters, small.optimizer, small.state);
        run.prune(2, 0);
      }
      _exit(0);
    }
    while (list_checkpoints(path).empty() && waitpid(child, nullptr, WNOHANG) == 0) usleep(500);
    usleep(delay);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto found = find_resumable(path);
    REQUIRE(found.has_value());
    CHECK(found->skipped.empty());
  }
}
