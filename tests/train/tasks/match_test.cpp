// Complete training runs of text matching.
#include "gyre/train/tasks/matching/match.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/models/position/position_table.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/language/language.h"
#include "gyre/train/tasks/matching/match_objective.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {
namespace {

struct TripletRuns : TemporaryDirectory {
  TripletRuns() { write_tiny_triplets(path()); }
  MatchOptions options(const std::string& run, const std::string& after) const {
    MatchOptions o = tiny_match_options(path(), *this / run);
    o.stop.after = Period::parse(after);
    return o;
  }
};

EncoderOnlyConfig matcher_encoder() {
  EncoderOnlyConfig c = tiny_encoder_config(0);
  c.token_types = 2;
  c.layers = 2;
  return c;
}

void train_matcher(const MatchOptions& options) { train(options, matcher_encoder()); }

std::string error_of_training(const MatchOptions& options) {
  return error_of([&] { train_matcher(options); });
}

}  // namespace

TEST_CASE("a matcher learns, and its run directory describes the task") {
  const TripletRuns runs;
  for (const char* loss : {"cross-entropy", "margin-loss"}) {
    CAPTURE(loss);
    MatchOptions options = runs.options(loss, "40e");
    options.objective.loss = parse_enum<MatchLoss>("", loss);
    options.swap = 0.5;
    options.data.valid_sets = {runs / "dev.tsv"};
    options.validation.every = Period::parse("10e");
    train_matcher(options);
    const Path run = runs / loss;
    const auto updates = events(run, "train"), validations = events(run, "valid");
    REQUIRE(validations.size() == 4);
    CHECK(last_state(run).best.at("accuracy").value == 1);
    CHECK(validations.back()["loss"] == validations.back()[loss]);
    CHECK(updates.back()["loss"] == updates.back()[loss]);
    CHECK(updates.back().contains("accuracy") == (std::string(loss) == "cross-entropy"));
    CHECK(last_state(run).progress.sentences == 40 * 60);
    CHECK(last_state(run).best.at(loss).value <= validations.front()["loss"].get<double>());  // lower is better

    const MatchTask task = read_match_task(run);
    CHECK(enum_name(task.objective.loss) == loss);
    CHECK(task.max_length == 16);
    const auto trained = load_trained_model<SequenceClassifier>(run, "last", {}, Device{});
    CHECK(trained.model->config().head == ClassifierHead::mean);
    const LabeledIds pairs = read_triplets(runs / "dev.jsonl", options.data, *trained.vocabulary);
    SelfCommunicator self;
    const Predictions predictions = predict(*trained.model, pairs, 7, Precision::fp32, cpu_kernels(), self);
    CHECK(match_score("accuracy", predictions, task.objective) == validations.back()["accuracy"]);
    CHECK(match_score(loss, predictions, task.objective) ==
          doctest::Approx(validations.back()["loss"].get<double>()).epsilon(1e-4));
  }
}

TEST_CASE("scores of a matcher: ties are errors, and large numbers do not overflow") {
  const Predictions predictions{{2, 1, 0.5, 0.5, -1, 3, -800, 800}, 1};
  const MatchObjective objective{MatchLoss::margin, 1.5};
  CHECK(match_score("accuracy", predictions, objective) == 0.25);
  CHECK(match_score("margin-loss", predictions, objective) == doctest::Approx((0.5 + 1.5 + 5.5 + 1601.5) / 4));
  const auto log1p_exp = [](double x) { return std::log1p(std::exp(x)); };
  const double pairs = log1p_exp(-2) + log1p_exp(1) + log1p_exp(-0.5) + log1p_exp(0.5) + log1p_exp(1) + log1p_exp(3);
  CHECK(match_score("cross-entropy", predictions, objective) == doctest::Approx((pairs + 1600) / 8));
  const Predictions broken{{std::nan(""), 0}, 1};
  CHECK(match_score("accuracy", broken, objective) == 0);
  CHECK(std::isnan(match_score("margin-loss", broken, objective)));
  CHECK(std::isnan(match_score("cross-entropy", broken, objective)));
  CHECK_THROWS_WITH_AS(match_score("f1", predictions, objective),
                       "[matching] expected accuracy, cross-entropy or margin-loss, got f1", UsageError);
}

TEST_CASE("with a fixed number of micro-batches a matcher has the same bits each time, interrupted or not") {
  const TripletRuns runs;
  for (int micro_batches : {1, 3, 7}) {  // with seven, at least three are empty
    CAPTURE(micro_batches);
    MatchOptions straight = runs.options(concat("straight", micro_batches), "33u");
    straight.swap = 0.5;
    straight.parallel.deterministic = true;
    straight.parallel.micro_batches = micro_batches;
    straight.data.valid_sets = {runs / "dev.jsonl"};
    straight.validation.every = Period::parse("6u");
    check_resumed(straight, {"4u", "17u", "33u"}, train_matcher);
  }
}

TEST_CASE("the format of the triplets does not change a run, and swapped texts do") {
  const TripletRuns runs;
  MatchOptions objects = runs.options("objects", "9u"), table = runs.options("table", "9u"),
               swapped = runs.options("swapped", "9u");
  table.data.train_sets = {runs / "train.tsv"};
  swapped.swap = 1;
  for (const MatchOptions* options : {&objects, &table, &swapped}) train_matcher(*options);
  CHECK(last_bits(runs / "objects") == last_bits(runs / "table"));
  CHECK(last_bits(runs / "objects") != last_bits(runs / "swapped"));
}

TEST_CASE("early stopping by accuracy, and a pretrained encoder") {
  const TripletRuns runs;
  MaskedOptions pretraining = tiny_masked_options(runs / ".", runs / "pretrained");
  pretraining.stop.after = Period::parse("20u");
  train(pretraining, matcher_encoder());
  MatchOptions options = runs.options("tuned", "40e");
  options.data.vocabulary.clear();
  options.pretrained_model = pretraining.start.directory;
  options.data.valid_sets = {runs / "dev.jsonl"};
  options.stop.early_stopping = 2;
  train_matcher(options);
  const auto validations = events(runs / "tuned", "valid");
  CHECK(validations.size() < 40);
  CHECK(last_state(runs / "tuned").best.at("accuracy").value >= validations.back()["accuracy"].get<double>());
}

TEST_CASE("errors name invalid data and options of a matcher") {
  const TripletRuns runs;
  MatchOptions options = runs.options("run", "1u");
  options.data.train_sets = {runs / "train.txt"};
  CHECK(contains(error_of_training(options), "train.txt:1: expected a JSON object, or a header line"));
  options = runs.options("run", "1u");
  options.validation.metrics = {"margin-loss"};
  CHECK(error_of_training(options) == "[--valid-metrics] expected one of accuracy, cross-entropy, got 'margin-loss'");
  options = runs.options("run", "1u");
  options.swap = 1.5;
  CHECK(error_of_training(options) == "[--swap-texts] expected a probability between 0 and 1, got 1.5");
  CHECK(error_of([&] { OptionList::of(options).at("loss").value.read({"hinge"}); }) ==
        "expected one of cross-entropy, margin-loss; got 'hinge'");

  // An encoder with learned positions is too short for the default of 1,024 tokens.
  options = runs.options("run", "1u");
  options.data.max_length = 1024;
  EncoderOnlyConfig learned = matcher_encoder();
  learned.position.encoding = "learned";
  learned.position.get<PositionTableOptions>().max_positions = 512;
  CHECK(contains(
      error_of([&] { train(options, learned); }),
      "[--max-length] expected at most 512, the number of positions of the model (see --max-positions), got 1024"));
}

}  // namespace gyre::test
