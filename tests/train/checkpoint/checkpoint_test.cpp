#include "gyre/train/checkpoint/checkpoint.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/train/optim/schedule.h"
#include "tests/temporary_directory.h"
#include "tests/train/small_run.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("checkpoint: a resumed run continues bit for bit, with and without a moving average") {
  for (const double ema : {0.0, 0.9}) {
    const TemporaryDirectory directory;
    const RunDirectory run(directory / "run");
    SmallRun straight(ema);
    const Path saved = train_and_save(run, straight, 5);
    straight.train(7);

    SmallRun resumed(ema, 99);  // other weights before loading
    resumed.train(2);
    resumed.state = load_checkpoint(saved, resumed.parameters, resumed.optimizer);
    CHECK(resumed.optimizer.step() == 5);
    resumed.train(7);
    CHECK(resumed.weights() == straight.weights());
    CHECK(resumed.state.progress.updates == 12);
    const auto a = straight.optimizer.state(), b = resumed.optimizer.state();
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i].read().to_vector<float>() == b[i].read().to_vector<float>());
    if (ema == 0) continue;
    for (size_t i = 0; i < straight.parameters.count(); ++i) {
      CHECK(straight.optimizer.average(straight.parameters[i]).read().to_vector<float>() ==
            resumed.optimizer.average(resumed.parameters[i]).read().to_vector<float>());
    }
  }
}

// Adam in double precision by the formulas of Kingma & Ba 2015, on the gradients of SmallRun::train.
class AdamInDouble {
 public:
  AdamInDouble(const OptimizerOptions& options, const std::vector<float>& weights, uint64_t schedule_step)
      : options_(options), weights_(weights.begin(), weights.end()), first_(schedule_step) {}
  void update() {
    ++t_;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const double g = std::sin(3 * weights_[i] + double(first_ + t_ - 1)) / 2;
      m_[i] = options_.beta1 * m_[i] + (1 - options_.beta1) * g;
      v_[i] = options_.beta2 * v_[i] + (1 - options_.beta2) * g * g;
      const double m = m_[i] / (1 - std::pow(options_.beta1, t_)), v = v_[i] / (1 - std::pow(options_.beta2, t_));
      weights_[i] -= learning_rate(options_.schedule, first_ + t_ - 1) * m / (std::sqrt(v) + options_.epsilon);
    }
  }
  const std::vector<double>& weights() const { return weights_; }

 private:
  OptimizerOptions options_;
  std::vector<double> weights_, m_ = std::vector<double>(weights_.size()), v_ = m_;
  uint64_t first_, t_ = 0;
};

std::vector<float> weights_of(const Parameter& p) { return p.value.to_vector<float>(); }

TEST_CASE("checkpoint: reset moments restart the bias correction") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun before(0.9);
  const Path saved = train_and_save(run, before, 50);

  SmallRun fresh(0.9, 99);
  fresh.state = load_checkpoint(saved, fresh.parameters, fresh.optimizer, /*moments=*/false);
  CHECK(fresh.optimizer.step() == 50);
  CHECK(fresh.optimizer.moments_step() == 0);
  AdamInDouble expected(small_options(0.9), weights_of(fresh.parameters[0]), 50);
  for (int update = 1; update <= 4; ++update) {
    fresh.train(1);
    expected.update();
    const std::vector<float> now = weights_of(fresh.parameters[0]);
    for (size_t i = 0; i < now.size(); ++i) CHECK(std::abs(now[i] - expected.weights()[i]) <= 2e-6);
  }

  // The step count of the new moments is also saved.
  const Path again = save_checkpoint(run, fresh.parameters, fresh.optimizer, fresh.state);
  SmallRun resumed(0.9, 7);
  CHECK(load_checkpoint(again, resumed.parameters, resumed.optimizer).moments_step == 4);
  fresh.train(3);
  resumed.train(3);
  CHECK(resumed.weights() == fresh.weights());
}

TEST_CASE("checkpoint: the files, and the weights for decoding") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small(0.9);
  const Path saved = train_and_save(run, small, 3);
  CHECK(saved == run.path() / "checkpoints/step-00000003");
  CHECK(linked_checkpoint(run.path(), "last") == saved);
  const SafetensorsFile model(saved / "model.safetensors"), optimizer(saved / "optimizer.safetensors");
  const Parameter& p = small.parameters[1];
  CHECK(model.read(*model.find(p.name)).to_vector<float>() == small.optimizer.average(p).read().to_vector<float>());
  CHECK(optimizer.read(*optimizer.find("weights." + p.name)).to_vector<float>() == p.value.to_vector<float>());
  CHECK(optimizer.find("m." + p.name) != nullptr);
  CHECK(optimizer.find("v." + p.name) != nullptr);
  CHECK(model.entries().size() == 3);
  CHECK(optimizer.entries().size() == 9);
}

TEST_CASE("train state: every field is saved and restored") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small;
  small.state.progress = {
      .updates = 7, .epoch = 2, .batch = 3, .target_tokens = uint64_t{1} << 40, .source_tokens = 5, .sentences = 6};
  small.state.seed = ~uint64_t{0};
  small.state.micro_batches = 4;
  small.state.ranks = 2;
  small.state.deterministic = true;
  small.state.kernels = "cpu_v3";
  small.state.seconds = 0.1 + 0.2;
  small.state.validations_without_improvement = 3;
  small.state.best = {{"bleu", {27.5, 5}}, {"perplexity", {std::numeric_limits<double>::infinity(), 7}}};
  small.state.best_checkpoint = {"bleu", 26.5, 4};
  small.state.validation_due = true;
  small.train(2);
  small.state.progress.updates = 7;
  const TrainState s = read_train_state(save_checkpoint(run, small.parameters, small.optimizer, small.state));
  CHECK(s.progress.updates == 7);
  CHECK(s.progress.epoch == 2);
  CHECK(s.progress.batch == 3);
  CHECK(s.progress.target_tokens == (uint64_t{1} << 40) + 200);
  CHECK(s.progress.source_tokens == 5);
  CHECK(s.progress.sentences == 6);
  CHECK(s.seed == ~uint64_t{0});
  CHECK(s.micro_batches == 4);
  CHECK(s.ranks == 2);
  CHECK(s.deterministic);
  CHECK(s.kernels == "cpu_v3");
  CHECK(s.seconds == 0.1 + 0.2);
  CHECK(s.validations_without_improvement == 3);
  CHECK(s.best.at("bleu").value == 27.5);
  CHECK(s.best.at("bleu").updates == 5);
  CHECK(std::isinf(s.best.at("perplexity").value));
  REQUIRE(s.best_checkpoint);
  CHECK(s.best_checkpoint->metric == "bleu");
  CHECK(s.best_checkpoint->value == 26.5);
  CHECK(s.best_checkpoint->updates == 4);
  CHECK(s.validation_due);
  CHECK(s.optimizer_step == 2);
  CHECK(s.moments_step == 2);
  CHECK(!s.has_average);
  CHECK(!s.version.empty());
}

TEST_CASE("load: the error for a checkpoint of another model names every tensor") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun small;
  const Path saved = train_and_save(run, small, 1);
  Parameters other;
  other.add("embedding.weight", {12, 6}, Init::constant(0));
  other.add("layer.1.weight", {6, 6}, Init::constant(0));
  other.allocate(1);
  Optimizer optimizer(other, cpu_kernels(), small_options(0));
  const std::string message = error_of([&] { load_checkpoint(saved, other, optimizer); });
  CHECK(contains(message, "wrong shape: embedding.weight expected (12, 6), got (10, 6)"));
  CHECK(contains(message, "missing: layer.1.weight (6, 6)"));
  CHECK(contains(message, "unexpected: \"layer.0.bias\" (6)"));
}

TEST_CASE("load: a checkpoint with a moving average needs --ema, and vice versa") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run");
  SmallRun with(0.9), without;
  const Path saved = train_and_save(run, with, 1);
  CHECK_THROWS_WITH_AS(load_checkpoint(saved, without.parameters, without.optimizer),
                       doctest::Contains("with a moving average of the weights: expected --ema above 0"), UsageError);
}
