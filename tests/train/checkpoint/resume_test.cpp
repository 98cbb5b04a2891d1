#include "gyre/train/resume.h"

#include <doctest/doctest.h>

#include "gyre/train/checkpoint/run_options.h"
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
  const RunOptions with{.of_data = {{"seed", "1"}, {"micro-batches", "8"}}, .of_bits = {{"deterministic", "on"}}};
  const RunOptions without{.of_data = {{"seed", "1"}}, .of_bits = {{"micro-batches", "1"}, {"deterministic", "off"}}};
  CHECK(contains(refusal(with, without), "(--deterministic was given before, and is not now):"));
  CHECK(contains(refusal(without, with), "(--deterministic was not given before, and is now):"));
  CHECK(refusal(with, with) == "no error");
  RunOptions other = with;
  other.of_data["micro-batches"] = "4", other.of_data["seed"] = "2";
  CHECK(contains(refusal(with, other), "(micro-batches 8 -> 4; seed 1 -> 2):"));
  other = without;
  other.of_data["seed"] = "2";
  CHECK(contains(refusal(with, other), "(--deterministic was given before, and is not now; seed 1 -> 2):"));
}

TEST_CASE("a warning about other bits compares numbers of micro-batches, and nothing with a run that has none") {
  const auto warning = [](const OptionTexts& saved, const OptionTexts& now) {
    TrainState before;
    before.options.of_bits = saved;
    return run_changes(before, {.options = {.of_data = {}, .of_bits = now}, .defaults = {}}).of_bits;
  };
  CHECK(warning({{"micro-batches", "2"}}, {{"micro-batches", "4"}}) == "micro-batches 2 -> 4");
  CHECK(warning({}, {{"micro-batches", "4"}}).empty());
  CHECK(warning({{"micro-batches", "2"}, {"clip-norm", "1"}}, {{"clip-norm", "5"}}) == "clip-norm 1 -> 5");
}

TEST_CASE("a changed option of the optimizer is in the identity of a run, and options that nothing reads are not") {
  const auto changes = [](const auto& before, const auto& after) {
    RunIdentity saved, now;
    saved.add(before);
    now.add(after);
    std::string names;
    for (const auto& [name, value] : now.options.of_bits)
      if (const std::string* found = saved.options.find(name); found == nullptr || *found != value) names += name + " ";
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
  saved.of_bits.erase("layer-decay");
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

TEST_CASE("a checkpoint of an earlier version that did not record an option is not compared by it") {
  RunIdentity now;
  ScheduleOptions warm;
  warm.warmup_initial = 1e-5;
  now.add(warm);
  TrainState before;
  before.options = now.options;
  before.options.of_bits.erase("lr-warmup-start-rate");
  CHECK(run_changes(before, now).of_bits.empty());
  before.options.of_bits["lr-warmup-start-rate"] = "0";
  CHECK(run_changes(before, now).of_bits == "lr-warmup-start-rate 0 -> 1e-05");

  RunIdentity staged;
  staged.options.of_bits[stage_rates_option_name(0)] = "learn-rate 0.1, counted from update 0";
  before.options = {.of_data = {}, .of_bits = {{"stage from update 0, learning rate", "a peak of 0.1"}}};
  CHECK(run_changes(before, staged).of_bits.empty());
  before.options.of_bits[stage_rates_option_name(0)] = "learn-rate 0.2, counted from update 0";
  CHECK(run_changes(before, staged).of_bits ==
        "stage from update 0, schedule learn-rate 0.2, counted from update 0 -> learn-rate 0.1, counted from update 0");
}

TEST_CASE("the longest sample is that of the run, or of the longest stage that has begun") {
  RunOptions options{.of_data = {{"max-length", "512"}}, .of_bits = {}};
  CHECK(options.longest_sample() == 512);
  options.of_data[stage_option_name(0)] = "--max-length 64, --mini-batch 4";
  options.of_data[stage_option_name(0) + ", weights"] = "1,2";
  options.of_data[stage_option_name(10)] = "--max-length 128, --mini-batch 4";
  options.of_data[stage_option_name(20)] = "--max-length 96, --mini-batch 4";
  CHECK(options.longest_sample() == 128);
  CHECK(without_later_stages(options, 11).longest_sample() == 128);
  CHECK(without_later_stages(options, 10).longest_sample() == 64);
  CHECK_FALSE(RunOptions().longest_sample());
}
