#include "gyre/train/resume.h"

#include <doctest/doctest.h>

#include "tests/errors.h"

using namespace gyre;

namespace {

std::string refusal(const RunOptions& saved, const RunOptions& now) {
  TrainState before;
  before.options = saved;
  return error_of([&] { require_same_run("step", before, {.options = now, .defaults = {}}); });
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

TEST_CASE("a changed option of the optimizer is in the identity of a run, and options that nothing reads are not") {
  const auto changes = [](const auto& before, const auto& after) {
    RunIdentity saved, now;
    saved.add(before);
    now.add(after);
    std::string names;
    for (const auto& [name, value] : now.options)
      if (const auto found = saved.options.find(name); found == saved.options.end() || found->second != value)
        names += name + " ";
    return names;
  };
  OptimizerOptions clipped;
  clipped.clip_norm = 1;
  CHECK(changes(OptimizerOptions(), clipped) == "clip-norm ");
  OptimizerOptions moved;
  moved.momentum = 0.5;  // adam has none
  CHECK(changes(OptimizerOptions(), moved).empty());
  ScheduleOptions warm;
  warm.warmup_initial = 1e-5;
  CHECK(changes(ScheduleOptions(), warm) == "lr-warmup-start-rate ");
}

TEST_CASE("an option that a checkpoint lacks had its default") {
  RunIdentity now;
  now.add(OptimizerOptions());
  RunOptions saved = now.options;
  saved.erase("layer-decay");
  TrainState before;
  before.options = saved;
  CHECK(run_changes(before, now).of_bits.empty());
  OptimizerOptions decayed;
  decayed.layer_decay = 0.5;
  now.add(decayed);
  CHECK(run_changes(before, now).of_bits == "layer-decay 1 -> 0.5");
  OptimizerOptions frozen;
  frozen.frozen = {"*embed*"};
  now.add(frozen);
  CHECK(run_changes(before, now).of_bits == "freeze (none) -> *embed*");
}
