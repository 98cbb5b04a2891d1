#include "gyre/train/resume.h"

#include <doctest/doctest.h>

#include "tests/errors.h"

using namespace gyre;

namespace {

std::string refusal(const RunOptions& saved, const RunOptions& now) {
  TrainState before, after;
  before.options = saved;
  after.options = now;
  return error_of([&] { require_same_run("step", before, after); });
}

}  // namespace

TEST_CASE("the error for different options names a missing or additional flag") {
  const RunOptions with{{"=seed", "1"}, {"=shards", "8"}, {"deterministic", "on"}};
  const RunOptions without{{"=seed", "1"}, {"shards", "1"}, {"deterministic", "off"}};
  CHECK(contains(refusal(with, without), "(--deterministic was given before, and is not now):"));
  CHECK(contains(refusal(without, with), "(--deterministic was not given before, and is now):"));
  CHECK(refusal(with, with) == "no error");
  RunOptions other = with;
  other["=shards"] = "4", other["=seed"] = "2";
  CHECK(contains(refusal(with, other), "(seed 1 -> 2; micro-batches 8 -> 4):"));
}
