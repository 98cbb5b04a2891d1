// The loop with another task than translation.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "models/encoder_only.h"
#include "tests/temporary_directory.h"
#include "tests/train/tiny_masked.h"
#include "tests/train/tiny_nmt.h"
#include "train/log/metrics_log.h"
#include "train/model_file.h"

namespace gyre::test {
namespace {

class MaskedRuns {
 public:
  TrainOptions options(const std::string& run, const std::string& after, int shards) const {
    TrainOptions o = masked_options(directory_.path(), directory_ / run);
    o.after = Period::parse(after);
    o.deterministic = true;
    o.shards = shards;
    return o;
  }
  Path run(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
};

void train(const TrainOptions& options, double dropout = 0.1) {
  SelfCommunicator self;
  CHECK(train_masked(options, masked_config(dropout), self) == 0);
}

void validate_every(TrainOptions& options, const char* period) {
  options.valid_sets = {"held-out"};
  options.valid_metrics = {"accuracy", "cross-entropy"};
  options.validate_every = Period::parse(period);
}

TEST_CASE("a masked-language model learns, and its run can be read") {
  const MaskedRuns runs;
  TrainOptions options = runs.options("run", "20e", 2);
  validate_every(options, "5e");
  train(options);
  const Path run = runs.run("run");
  EncoderOnly model(EncoderOnlyConfig::from_json(nlohmann::ordered_json::parse(read_file(run / "config.json"))));
  model.parameters().allocate(1);
  load_model_weights(run, model.parameters());

  std::vector<nlohmann::ordered_json> updates, validations;
  for (const auto& entry : read_metrics(run / "metrics.jsonl")) {
    if (entry["event"] == "train") updates.push_back(entry);
    if (entry["event"] == "valid") validations.push_back(entry);
  }
  REQUIRE(validations.size() == 4);
  CHECK(validations.back()["loss"] == validations.back()["cross-entropy"]);
  CHECK(validations.back()["loss"].get<double>() < 0.6 * updates.front()["loss"].get<double>());
  const TrainState state = last_state(run);
  double most = 0;
  for (const auto& entry : validations) most = std::max(most, entry["accuracy"].get<double>());
  CHECK(state.best.at("accuracy").value == most);
  CHECK(state.progress.sentences == 1000);
  CHECK(state.progress.source_tokens == 0);
  CHECK(state.progress.target_tokens > 1000);
}

TEST_CASE("with a fixed number of shards a run has the same bits each time, cut or not") {
  const MaskedRuns runs;
  for (int shards : {1, 2, 7}) {  // of seven, two or more are empty
    CAPTURE(shards);
    const auto named = [shards](const char* name) { return name + std::to_string(shards); };
    TrainOptions straight = runs.options(named("straight"), "23u", shards);
    straight.optimizer.ema = 0.9;
    validate_every(straight, "6u");
    train(straight);
    TrainOptions again = straight, cut = straight;
    again.model = runs.run(named("again"));
    train(again);
    cut.model = runs.run(named("cut"));
    for (const char* after : {"4u", "10u", "23u"}) {
      cut.after = Period::parse(after);
      train(cut);
    }
    for (const char* name : {"again", "cut"}) {
      CHECK(last_bits(runs.run(named(name))) == last_bits(straight.model));
      CHECK(loss_curve(runs.run(named(name))) == loss_curve(straight.model));
    }
  }
}

TEST_CASE("the loss per masked token does not depend on the shards") {
  const MaskedRuns runs;
  train(runs.options("one", "20u", 1), 0);
  train(runs.options("two", "20u", 2), 0);
  std::istringstream one(loss_curve(runs.run("one"))), two(loss_curve(runs.run("two")));
  double update = 0, a = 0, b = 0;
  for (int i = 0; i < 20; ++i) {
    REQUIRE((one >> update >> a && two >> update >> b));
    CHECK(a == doctest::Approx(b).epsilon(2e-4));
  }
}

}  // namespace
}  // namespace gyre::test
