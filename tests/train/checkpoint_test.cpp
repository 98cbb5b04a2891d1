#include "train/checkpoint.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/safetensors.h"
#include "tests/core/file_size_limit.h"
#include "tests/temporary_directory.h"
#include "tests/train/small_run.h"
#include "train/manifest.h"
#include "train/schedule.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

Path train_and_save(const RunDirectory& run, SmallRun& small, int updates) {
  small.train(updates);
  return save_checkpoint(run, small.parameters, small.optimizer, small.state);
}

// In place and not flushed to disk.
void flip_bit(const Path& path, size_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
}

}  // namespace

TEST_CASE("checkpoint: a resumed run continues bit for bit, with and without a moving average") {
  for (const double ema : {0.0, 0.9}) {
    const TemporaryDirectory directory;
    const RunDirectory run(directory / "run", false);
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
    const auto a = straight.optimizer.moments(), b = resumed.optimizer.moments();
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i].read().to_vector<float>() == b[i].read().to_vector<float>());
    if (ema == 0) continue;
    for (size_t i = 0; i < straight.parameters.count(); ++i) {
      CHECK(straight.optimizer.average(straight.parameters[i]).read().to_vector<float>() ==
            resumed.optimizer.average(resumed.parameters[i]).read().to_vector<float>());
    }
  }
}

// Adam on the gradients of SmallRun::train, by the formulas of Kingma & Ba 2015 in double precision.
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
      weights_[i] -= learning_rate(options_, first_ + t_ - 1) * m / (std::sqrt(v) + options_.epsilon);
    }
  }
  const std::vector<double>& weights() const { return weights_; }

 private:
  OptimizerOptions options_;
  std::vector<double> weights_, m_ = std::vector<double>(weights_.size()), v_ = m_;
  uint64_t first_, t_ = 0;
};

std::vector<float> weights_of(const Parameter& p) { return p.value.to_vector<float>(); }

TEST_CASE("checkpoint: moments that begin anew begin with the first step of bias correction") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun before(0.9);
  const Path saved = train_and_save(run, before, 50);

  SmallRun anew(0.9, 99);
  anew.state = load_checkpoint(saved, anew.parameters, anew.optimizer, /*moments=*/false);
  CHECK(anew.optimizer.step() == 50);
  CHECK(anew.optimizer.moments_step() == 0);
  AdamInDouble expected(small_options(0.9), weights_of(anew.parameters[0]), 50);
  for (int update = 1; update <= 4; ++update) {
    anew.train(1);
    expected.update();
    const std::vector<float> now = weights_of(anew.parameters[0]);
    for (size_t i = 0; i < now.size(); ++i) CHECK(std::abs(now[i] - expected.weights()[i]) <= 2e-6);
  }

  // The count of the new moments is saved too.
  const Path again = save_checkpoint(run, anew.parameters, anew.optimizer, anew.state);
  SmallRun resumed(0.9, 7);
  CHECK(load_checkpoint(again, resumed.parameters, resumed.optimizer).moments_step == 4);
  anew.train(3);
  resumed.train(3);
  CHECK(resumed.weights() == anew.weights());
}

TEST_CASE("checkpoint: files from before the moments had a step of their own, and validations could be due, are read") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun straight;
  const Path saved = train_and_save(run, straight, 5);
  nlohmann::ordered_json facts = read_manifest(saved);
  facts["optimizer"].erase("moments_step");
  facts["validation"].erase("due");
  facts["validation"].erase("best_checkpoint");
  write_manifest(saved, facts, {});
  CHECK(!read_train_state(saved).validation_due);
  CHECK(!read_train_state(saved).best_checkpoint);
  SmallRun resumed(0, 99);
  CHECK(load_checkpoint(saved, resumed.parameters, resumed.optimizer).moments_step == 5);
  straight.train(3);
  resumed.train(3);
  CHECK(resumed.weights() == straight.weights());
}

TEST_CASE("checkpoint: the layout, and the weights that decoding uses") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
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

TEST_CASE("train state: every field survives") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun small;
  small.state.progress = {
      .updates = 7, .epoch = 2, .batch = 3, .target_tokens = uint64_t{1} << 40, .source_tokens = 5, .sentences = 6};
  small.state.seed = ~uint64_t{0};
  small.state.shards = 4;
  small.state.ranks = 2;
  small.state.deterministic = true;
  small.state.kernels = "cpu_v3";
  small.state.seconds = 0.1 + 0.2;
  small.state.stalled_validations = 3;
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
  CHECK(s.shards == 4);
  CHECK(s.ranks == 2);
  CHECK(s.deterministic);
  CHECK(s.kernels == "cpu_v3");
  CHECK(s.seconds == 0.1 + 0.2);
  CHECK(s.stalled_validations == 3);
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

TEST_CASE("train state: checkpoints from before there were GPUs are read") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun small;
  small.state.kernels = "cpu_v3";
  small.state.options = {{"kernels", "cpu_v3"}, {"=seed", "1"}};
  const Path saved = save_checkpoint(run, small.parameters, small.optimizer, small.state);
  nlohmann::ordered_json facts = read_manifest(saved);
  facts["cpu_kernels"] = facts["kernels"];
  facts["options"]["CPU kernels"] = facts["options"]["kernels"];
  facts.erase("kernels");
  facts["options"].erase("kernels");
  write_manifest(saved, facts, {});
  const TrainState s = read_train_state(saved);
  CHECK(s.kernels == "cpu_v3");
  CHECK(s.options == small.state.options);
}

TEST_CASE("resumable: none in an empty run, otherwise the newest") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  CHECK(!find_resumable(run.path()));
  SmallRun small;
  train_and_save(run, small, 1);
  const Path newest = train_and_save(run, small, 1);
  CHECK(find_resumable(run.path())->checkpoint == newest);
  CHECK(find_resumable(run.path())->skipped.empty());
}

TEST_CASE("resumable: a broken newer checkpoint is named and skipped") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
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
  SUBCASE("a cut file") {
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
  SUBCASE("another shape of the same bytes") {
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

  // Training on from the good one replaces the broken one.
  SmallRun resumed;
  resumed.state = load_checkpoint(good, resumed.parameters, resumed.optimizer);
  CHECK(train_and_save(run, resumed, 1) == broken);
  CHECK(find_resumable(run.path())->checkpoint == broken);
}

TEST_CASE("resumable: when all are broken that is an error, not a fresh start") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun small;
  for (int i = 0; i < 2; ++i) fs::remove(train_and_save(run, small, 1) / "state.json");
  const std::string message = error_of([&] { find_resumable(run.path()); });
  CHECK(contains(message, "every checkpoint is broken"));
  CHECK(contains(message, "of 2, the newest is step-00000002: "));
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("verify: no flipped bit passes, except in the space of a header") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun small;
  const Path saved = train_and_save(run, small, 1);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const Path path = saved / name;
    const std::string good = read_file(path);
    for (size_t bit = 3; bit < good.size() * 8; bit += 101) {
      if (good[bit / 8] == ' ' || good[bit / 8] == '\n') continue;
      // The metadata of the file and the spelling of its keys say nothing about the tensors.
      if (good.substr(0, bit / 8 + 1).find("embedding") == std::string::npos && good[0] != '{') continue;
      flip_bit(path, bit);
      INFO(name, " bit ", bit);
      CHECK(error_of([&] { verify_checkpoint(saved); }) != "no error");
      flip_bit(path, bit);
    }
  }
  CHECK_NOTHROW(verify_checkpoint(saved));
}

TEST_CASE("save: NaN weights are refused, the last checkpoint stays") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun small;
  const Path good = train_and_save(run, small, 1);
  small.parameters[2].value.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  ++small.state.progress.updates;
  CHECK(contains(error_of([&] { save_checkpoint(run, small.parameters, small.optimizer, small.state); }),
                 "layer.0.bias holds NaN"));
  CHECK(linked_checkpoint(run.path(), "last") == good);
  CHECK(list_checkpoints(run.path()).size() == 1);
}

TEST_CASE("save: a full disk leaves the earlier checkpoint and no temporary") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
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

TEST_CASE("save: killed at any moment, a whole checkpoint remains and nothing half stands under its name") {
  const TemporaryDirectory directory;
  const Path path = directory / "run";
  for (const useconds_t delay : {500U, 2000U, 5000U, 9000U, 20000U}) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const RunDirectory run(path, false);
      SmallRun small;
      // No update: its threads do not survive the fork.
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

TEST_CASE("load: a checkpoint of another model is refused tensor by tensor") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
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

TEST_CASE("load: with and without a moving average do not mix") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "run", false);
  SmallRun with(0.9), without;
  const Path saved = train_and_save(run, with, 1);
  CHECK_THROWS_WITH_AS(load_checkpoint(saved, without.parameters, without.optimizer),
                       doctest::Contains("with a moving average of the weights: expected --ema above 0"), UsageError);
}
