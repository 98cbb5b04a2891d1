// Staged pretraining: samples, batches, data and learning rates that change at given updates.
#include "gyre/train/tasks/language/language_stages.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/optim/schedule.h"
#include "gyre/train/tasks/language/language.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

struct StagedRuns : TemporaryDirectory {
  StagedRuns() {
    write_tiny_documents(path());
    write_file(*this / "other.txt", "a b c d e f\nd e f g\n\nb c d e f\n\n");
  }

  // A run without its stages. Its 50 sentences are 10 batches of an epoch.
  MaskedOptions options(const std::string& run) const {
    MaskedOptions o = tiny_masked_options(path(), *this / run);
    o.data.valid_sets = {*this / "valid.txt"};
    o.validation.metrics = {"cross-entropy", "accuracy"};
    o.validation.every = Period::parse("1Ku");
    return o;
  }
  // Stages of 12, 4 and 9 updates. The first ends within its second epoch.
  std::vector<LanguageStage> stages() const {
    LanguageStage first, second, third;
    first.updates = 12;
    second.updates = 4;
    second.max_length = 24;
    second.batch_size = 3;
    second.learning_rate = 0.002;
    third.updates = 9;
    third.max_length = 8;
    third.batch_size = 40;
    third.batch_unit = BatchUnit::total_tokens;
    third.train_sets = {*this / "other.txt"};
    return {first, second, third};
  }
  MaskedOptions staged(const std::string& run) const {
    MaskedOptions o = options(run);
    o.set_stages(stages());
    return o;
  }
};

}  // namespace

TEST_CASE("a staged run changes its samples, batches, data and learning rates") {
  const StagedRuns runs;
  const MaskedOptions options = runs.staged("run");
  CHECK(to_string(options.stop.after) == "25u");
  train(options);
  const Path run = runs / "run";
  const auto updates = events(run, "train");
  REQUIRE(updates.size() == 25);
  const auto epoch = [&](size_t update) { return updates[update - 1]["epoch"].get<int>(); };
  CHECK(epoch(10) == 1);
  CHECK(epoch(11) == 2);
  CHECK(epoch(12) == 2);
  CHECK(epoch(13) == 3);  // a stage begins with an epoch of its own
  CHECK(epoch(16) == 3);
  CHECK(epoch(17) == 4);
  const auto tokens = [&](size_t update) { return updates[update - 1]["target_tokens"].get<int>(); };
  // The sentences of other.txt have 8, 6 and 7 rows: one batch per epoch.
  CHECK(tokens(17) - tokens(16) == 21);
  CHECK(epoch(25) == 12);
  const auto rate = [&](size_t update) { return updates[update - 1]["learning_rate"].get<double>(); };
  CHECK(rate(12) == doctest::Approx(0.01 * std::sqrt(5.0 / 11)));
  CHECK(rate(13) == doctest::Approx(0.002 * std::sqrt(5.0 / 12)));
  CHECK(rate(17) == doctest::Approx(0.01 * std::sqrt(5.0 / 16)));
  // Every stage ends with a validation and a checkpoint.
  const auto validations = events(run, "valid");
  REQUIRE(validations.size() == 3);
  CHECK(validations[0]["updates"] == 12);
  CHECK(validations[1]["updates"] == 16);
  CHECK(validations[2]["updates"] == 25);
  for (const uint64_t end : {12, 16, 25}) CHECK(std::filesystem::exists(checkpoint_path(run, end)));
  CHECK(last_state(run).progress.updates == 25);
}

TEST_CASE("a stage with a schedule of its own has its own cooldown") {
  const StagedRuns runs;
  MaskedOptions o = runs.options("run");
  o.optimizer.schedule.kind = "wsd";
  o.optimizer.schedule.warmup = 0;
  o.optimizer.schedule.cooldown = 16;
  o.stop.after = {};
  LanguageStage first, second, third;
  first.updates = 60;
  second.updates = 10;
  second.warmup = 2;
  third.updates = 20;
  third.schedule = "wsd";
  third.cooldown = 4;
  third.cooldown_percent = 0;
  third.cooldown_form = CooldownForm::linear;
  o.set_stages({first, second, third});
  const auto rate = [&](uint64_t n) { return learning_rate(o.optimizer, n) / o.optimizer.schedule.learning_rate; };
  CHECK(rate(59) == 1);  // the cooldown of the run would begin after 74 of its 90 updates
  CHECK(rate(62) == 1);
  CHECK(rate(68) == 1);  // 20 % of the second stage's 10 updates
  CHECK(rate(69) == doctest::Approx(1 - std::sqrt(0.5)));
  CHECK(rate(86) == 1);
  CHECK(rate(87) == doctest::Approx(0.75));
  CHECK(rate(89) == doctest::Approx(0.25));
  first.power = 2;
  o.stop.after = {};
  CHECK(contains(error_of([&] { o.set_stages({first}); }),
                 "[stage 1] [lr-power] expected lr-schedule polynomial in the stage, got the schedule of the run"));
  third.schedule = "cosine";
  o.stop.after = {};
  CHECK(contains(error_of([&] { o.set_stages({third}); }),
                 "[stage 1] [lr-cooldown] expected lr-schedule wsd in the stage, got cosine"));
}

TEST_CASE("the table of a run's stages") {
  const StagedRuns runs;
  MaskedOptions options = runs.staged("run");
  options.log.every = Period::parse("5u");
  train(options);
  const auto entries = read_metrics(runs / "run/metrics.jsonl");
  const std::vector<StageRow> rows = stage_rows(entries);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].updates == 12);
  CHECK(rows[1].begin == 12);
  CHECK(rows[1].max_length == 24);
  CHECK(rows[1].batch == 3);
  CHECK(rows[1].batch_unit == "sentences");
  CHECK(rows[2].of_updates == 9);
  CHECK(rows[2].batch_unit == "total");
  // The metrics have an entry at the end of each stage, so no entry has updates of two stages.
  std::vector<uint64_t> ends;
  for (const auto& entry : events(runs / "run", "train")) ends.push_back(entry["updates"]);
  CHECK(ends == std::vector<uint64_t>{5, 10, 12, 15, 16, 20, 25});
  CHECK(*rows[1].loss == events(runs / "run", "train")[4]["cross-entropy"].get<double>());
  CHECK(*rows[1].valid_loss == events(runs / "run", "valid")[1]["loss"].get<double>());
  uint64_t tokens = 0;
  for (const StageRow& row : rows) tokens += row.tokens;
  CHECK(tokens == last_state(runs / "run").progress.target_tokens);
  CHECK(stage_rows({}).empty());
}

TEST_CASE("a staged run that is interrupted within and between stages has the same bits") {
  const StagedRuns runs;
  check_resumed(runs.staged("straight"), {"3u", "11u", "12u", "14u", "16u", "17u", "24u", "25u"},
                [](const MaskedOptions& o) { train(o); });
  CHECK(stage_rows(read_metrics(runs / "straight-cut/metrics.jsonl")).size() == 3);
}

TEST_CASE("a single stage is a run without stages") {
  const StagedRuns runs;
  MaskedOptions plain = runs.options("plain"), staged = runs.options("staged");
  plain.stop.after = Period::parse("25u");
  train(plain);
  staged.set_stages({{.updates = 25}});
  train(staged);
  CHECK(last_bits(runs / "staged") == last_bits(runs / "plain"));
}

TEST_CASE("stages that have not begun can change when a run is resumed") {
  const StagedRuns runs;
  MaskedOptions options = runs.staged("run");
  options.stop.after = Period::parse("14u");
  train(options);
  const auto resume = [&](const std::vector<LanguageStage>& stages) {
    MaskedOptions changed = runs.options("run");
    changed.set_stages(stages);
    return error_of([&] { train(changed); });
  };
  std::vector<LanguageStage> stages = runs.stages();
  stages[0].batch_size = 4;
  CHECK(resume(stages).find("stage from update 0 --max-length 16, --mini-batch-words 5") != std::string::npos);
  stages = runs.stages();
  stages[1].max_length = 23;
  CHECK(resume(stages).find("stage from update 12 --max-length 24") != std::string::npos);
  stages = runs.stages();
  stages[0].updates = 11;
  CHECK(resume(stages).find("stage from update 11 (none) ->") != std::string::npos);
  // A stage is appended, and one that has not begun is shorter and has other samples.
  stages = runs.stages();
  stages[2].updates = 3;
  stages[2].max_length = 9;
  stages.push_back({.updates = 2});
  CHECK(resume(stages) == "no error");
  CHECK(last_state(runs / "run").progress.updates == 21);
}

TEST_CASE("a stage that has begun can be made longer or shorter") {
  const StagedRuns runs;
  const auto run_with = [&](const std::string& run, uint64_t first, const char* after) {
    MaskedOptions options = runs.options(run);
    std::vector<LanguageStage> stages = runs.stages();
    stages[0].updates = first;
    options.set_stages(stages);
    if (after != nullptr) options.stop.after = Period::parse(after);
    train(options);
  };
  // Up to update 7 the first stage does not depend on its length. It may even end at the checkpoint, within an epoch.
  for (const uint64_t length : {7, 8, 30}) {
    CAPTURE(length);
    const std::string changed = "changed" + std::to_string(length), straight = "straight" + std::to_string(length);
    run_with(changed, 12, "7u");
    run_with(changed, length, nullptr);
    run_with(straight, length, nullptr);
    check_same_runs(runs / changed, runs / straight);
    const auto rows = stage_rows(read_metrics(runs / changed / "metrics.jsonl"));
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].valid_loss.has_value());
    CHECK(rows[0].updates == length);
    CHECK(rows[0].of_updates == length);
    CHECK(rows[2].begin == length + 4);
  }
}

TEST_CASE("stages in metrics that have missing values") {
  const auto entry = [](const char* text) { return Json::parse(text); };
  const auto stage =
      R"({"event":"stage","updates":0,"stage":1,"stages":1,"begin":0,"stage_updates":4,"max_length":9,"batch":2,"batch_unit":"total"})";
  const auto rows = stage_rows({entry(stage), entry(R"({"event":"train","updates":2,"cross-entropy":null})"),
                                entry(R"({"event":"valid","updates":2,"loss":null})"),
                                entry(R"({"event":"end","updates":3,"target_tokens":30})")});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].updates == 3);
  CHECK(rows[0].tokens == 30);
  CHECK(!rows[0].loss);
  CHECK(!rows[0].valid_loss);
  CHECK(!rows[0].valid_accuracy);
  CHECK(error_of([&] {
          stage_rows({entry(R"({"event":"stage","stage":1,"begin":"x"})")});
        }).find("expected a value of begin, got \"x\"") != std::string::npos);
}

TEST_CASE("a stage can have a schedule of its own") {
  const StagedRuns runs;
  MaskedOptions options = runs.options("run");
  options.optimizer.schedule.kind = "linear";
  LanguageStage first{.updates = 20}, second{.updates = 10}, third{.updates = 10};
  second.warmup = 4;
  second.learning_rate = 0.02;
  third.schedule = "constant";
  options.set_stages({first, second, third});
  const OptimizerOptions& o = options.optimizer;
  CHECK(learning_rate(o, 5) == doctest::Approx(0.01));
  CHECK(learning_rate(o, 19) == doctest::Approx(0.01 * 21 / 35));  // linear over the 40 updates of the run
  CHECK(learning_rate(o, 20) == doctest::Approx(1e-7));
  CHECK(learning_rate(o, 24) == doctest::Approx(0.02));
  CHECK(learning_rate(o, 29) == doctest::Approx(0.02 / 6));  // linear over the stage
  CHECK(learning_rate(o, 30) == 0.01);
  CHECK(learning_rate(o, 39) == 0.01);
  CHECK(learning_rate(o, 1000) == 0.01);
}

TEST_CASE("stages that cannot be trained are rejected") {
  const StagedRuns runs;
  const auto error = [&](const std::vector<LanguageStage>& stages, const char* after = "0") {
    MaskedOptions options = runs.options("bad");
    options.stop.after = Period::parse(after);
    return error_of([&] { options.set_stages(stages); });
  };
  CHECK(error({{.updates = 5}, {.updates = 0}}) == "[stage 2] [updates] expected at least 1, got 0");
  CHECK(error({{.updates = 5, .max_length = 2}}) == "[stage 1] [max-length] expected at least 3, got 2");
  CHECK(error({{.updates = 5, .batch_size = 0}}) == "[stage 1] [mini-batch-words] expected at least 1, got 0");
  CHECK(error({{.updates = 5, .batch_unit = BatchUnit::source_tokens}})
            .find("[stage 1] [batch-unit] expected one of total") == 0);
  CHECK(error({{.updates = 5, .learning_rate = 0.0}}).find("[stage 1] [--learn-rate] expected a positive") == 0);
  CHECK(error({{.updates = 5, .schedule = "linear", .warmup = 5}}).find("[stage 1] [--lr-warmup] expected fewer") == 0);
  CHECK(error({{.updates = 5, .schedule = "constant", .warmup_percent = 150}}).find("[stage 1] [--lr-warmup]") == 0);
  CHECK(error({{.updates = 5}}, "6u") == "[--after] expected nothing, or the 5 updates of all stages, got 6u");
  CHECK(error({{.updates = 5}}, "5u") == "no error");
  // Held-out documents of one file could be training data in another.
  MaskedOptions shared = runs.options("shared");
  shared.data.valid_sets.clear();
  shared.validation_share = 0.2;
  shared.set_stages(runs.stages());
  CHECK(error_of([&] { train(shared); }).find("[--valid-share] expected 0, and --valid-sets, if a stage") == 0);
  // More tokens than positions.
  MaskedOptions options = runs.options("long");
  options.set_stages({{.updates = 5}, {.updates = 5, .max_length = 40}});
  EncoderOnlyConfig config = tiny_encoder_config(0);
  config.position = PositionConfig("learned");
  config.position.get<PositionTableOptions>().max_positions = 39;
  CHECK(error_of([&] { train(options, config); }).find("[stage 2: max-length] expected at most 39") == 0);
}

}  // namespace gyre::test
