#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/train/step.h"
#include "tests/errors.h"

namespace gyre::test {
namespace {

class OneWeight final : public TrainingModel {
 public:
  OneWeight() {
    weight_.add("weight", {1}, Init::constant(1));
    weight_.allocate(1);
  }
  Parameters& parameters() override { return weight_; }
  void before_update(uint64_t, uint64_t update) override { update_ = update; }
  std::string describe() const override { return "one weight"; }
  Json config() const override { return {}; }
  uint64_t update() const { return update_; }

 private:
  Parameters weight_;
  uint64_t update_ = 0;  // the update whose state the model has
};

// Batches of one prediction: factor * weight, with the target 0. The gradient is 2 * factor^2 * weight.
class OneRow final : public TrainingData {
 public:
  OneRow(Parameters& parameters, double factor) : parameters_(parameters), factor_(factor) {}
  std::string describe() const override { return "one row"; }
  std::string item() const override { return "row"; }
  uint64_t checksum() const override { return 0; }
  void start_epoch(uint64_t, uint64_t) override {}
  size_t batches() const override { return 1; }
  RankBatch batch(size_t, MicroBatchRange) const override {
    const auto loss = [this](Tape& tape) {
      return squared_error(scale(tape.parameter(parameters_[0]), factor_), Tensor::from({1}, std::vector<float>{0}));
    };
    RankBatch batch;
    batch.micro_batches.push_back({loss, 1});
    batch.sentences = batch.target_tokens = batch.predictions = 1;
    return batch;
  }

 private:
  Parameters& parameters_;
  double factor_;
};

ReplayResult replay_with_factor(double factor) {
  SelfCommunicator self;
  Kernels& kernels = cpu_kernels();
  OneWeight model;
  OneRow data(model.parameters(), factor);
  GradientReducer reducer(self, kernels, model.parameters(), {});
  OptimizerOptions options;
  options.clip_norm = 0;
  Optimizer optimizer(model.parameters(), kernels, options, &reducer);
  TrainStep step(model, optimizer, reducer, kernels, self, {});
  Progress progress;
  progress.updates = 3;
  return replay(step, data, progress, 2);
}

TEST_CASE("replay: no anomaly if the optimizer accepts all gradients") {
  const ReplayResult result = replay_with_factor(1);
  CHECK(result.first == 4);
  CHECK(result.last == 5);
  CHECK(!result.anomaly);
}

TEST_CASE("replay: a finite gradient that is too large for the update rule is not blamed on the machine") {
  const ReplayResult result = replay_with_factor(8e18);  // its square is finite; that of the gradient is not
  REQUIRE(result.anomaly);
  CHECK(result.anomaly->update == 4);
  CHECK(std::isfinite(result.anomaly->gradient_norm));
  CHECK(result.anomaly->cause == "this is too large for the update rule");
}

TEST_CASE("replay: names the first operation that is not finite") {
  const ReplayResult result = replay_with_factor(1e30);
  REQUIRE(result.anomaly);
  CHECK(!std::isfinite(result.anomaly->gradient_norm));
  // The loss is f64, so the first number that is too large is the gradient in f32.
  CHECK(contains(result.anomaly->cause, "backward: scale"));
}

TEST_CASE("an update is repeated with its own state of the model, even if the next one has begun") {
  SelfCommunicator self;
  OneWeight model;
  GradientReducer reducer(self, cpu_kernels(), model.parameters(), {});
  Optimizer optimizer(model.parameters(), cpu_kernels(), {}, &reducer);
  TrainStep step(model, optimizer, reducer, cpu_kernels(), self, {});
  RankBatch batch;
  const auto loss = [&model](Tape& tape) {
    const double factor = model.update() == 3 ? 1e30 : 1;
    return squared_error(scale(tape.parameter(model.parameters()[0]), factor),
                         Tensor::from({1}, std::vector<float>{0}));
  };
  batch.micro_batches.push_back({loss, 1});
  model.before_update(1, 4);
  CHECK(contains(step.find_non_finite(3, batch), "backward: scale"));
  CHECK(contains(step.find_non_finite(4, batch), "all values are finite"));
}

}  // namespace
}  // namespace gyre::test
