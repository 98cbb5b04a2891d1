#include "gyre/train/checkpoint/checkpoint.h"

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

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/train/checkpoint/checkpoint_writer.h"
#include "gyre/train/optim/schedule.h"
#include "tests/core/io/file_size_limit.h"
#include "tests/temporary_directory.h"
#include "tests/train/small_run.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

// The base of tests with an open run directory.
struct InRun : InDirectory {
  RunDirectory run{directory / "run"};
};

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

TEST_CASE_FIXTURE(InRun, "checkpoint: options that an earlier version wrote in one list are read") {
  SmallRun small(0);
  const Path saved = train_and_save(run, small, 1);
  Json state = read_manifest(saved);
  state["options"] = Json{{"=seed", "1"}, {"=shards", "8"}, {"precision", "fp32"}};
  write_manifest(saved, state, {});
  const RunOptions options = read_train_state(saved).options;
  CHECK(options.of_data == OptionTexts{{"micro-batches", "8"}, {"seed", "1"}});
  CHECK(options.of_bits == OptionTexts{{"precision", "fp32"}});
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

TEST_CASE_FIXTURE(InRun, "checkpoint: reset moments restart the bias correction") {
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

TEST_CASE_FIXTURE(InRun, "checkpoint: the files, and the weights for decoding") {
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

TEST_CASE_FIXTURE(InRun, "train state: every field is saved and restored") {
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

TEST_CASE_FIXTURE(InRun, "load: the error for a checkpoint of another model names every tensor") {
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

TEST_CASE_FIXTURE(InRun, "load: a checkpoint with a moving average needs --ema, and vice versa") {
  SmallRun with(0.9), without;
  const Path saved = train_and_save(run, with, 1);
  CHECK_THROWS_WITH_AS(load_checkpoint(saved, without.parameters, without.optimizer),
                       doctest::Contains("with a moving average of the weights: expected --ema above 0"), UsageError);
}

namespace {

// Two files with tensors of several widths, which are written in another order than they are read: wide ones first.
// Every tensor has its number as its value, and `made` gets the numbers of the reads.
std::vector<TensorFile> mixed_files(std::vector<int>& made) {
  constexpr DType kTypes[] = {DType::bf16, DType::f32, DType::f64, DType::f32, DType::i32, DType::f64};
  std::vector<TensorFile> files{{"a.safetensors", {}}, {"b.safetensors", {}}};
  for (int number = 0; number < 12; ++number) {
    const DType dtype = kTypes[number % 6];
    const auto read = [&made, number, dtype] {
      made.push_back(number);
      Tensor tensor = Tensor::zeros({2}, dtype);
      static_cast<char*>(tensor.raw())[0] = char(number);
      return tensor;
    };
    files[size_t(number / 6)].tensors.push_back({std::to_string(number), dtype, Shape{2}, read});
  }
  return files;
}

const std::vector<int> kInOrder{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

}  // namespace

TEST_CASE("shared reads: tensors of several widths have their own data, and the reads keep the order of the ranks") {
  const TemporaryDirectory directory;
  std::vector<int> made;
  std::vector<TensorFile> files = mixed_files(made);
  {
    const SharedReads reads(files);
    write_manifest(directory.path(), nlohmann::ordered_json::object(), files);
  }
  CHECK(made == kInOrder);
  verify_manifest(directory.path());
  for (int number = 0; number < 12; ++number) {
    CAPTURE(number);
    const SafetensorsFile file(directory / files[size_t(number / 6)].name);
    const auto* entry = file.find(std::to_string(number));
    REQUIRE(entry != nullptr);
    CHECK(int(file.bytes(*entry).front()) == number);
  }
}

TEST_CASE("shared reads: the other ranks do not wait for the reads of a file that could not be written") {
  std::vector<int> made;
  std::vector<TensorFile> files = mixed_files(made);
  {
    const SharedReads reads(files);
    files[0].tensors[4].read();
    CHECK(made == std::vector<int>{0, 1, 2, 3, 4});
  }
  CHECK(made == kInOrder);
}

// ---- Checkpoints after damage: flipped bits, a full disk, a killed process -----------------------------------------

namespace {

// Modifies the file in place, without a flush to disk.
void flip_bit(const Path& path, size_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
}

}  // namespace

TEST_CASE_FIXTURE(InRun, "resumable: none in an empty run, else the newest checkpoint") {
  CHECK(!find_resumable(run.path()));
  SmallRun small;
  train_and_save(run, small, 1);
  const Path newest = train_and_save(run, small, 1);
  CHECK(find_resumable(run.path())->checkpoint == newest);
  CHECK(find_resumable(run.path())->skipped.empty());
}

TEST_CASE_FIXTURE(InRun, "resumable: a broken newer checkpoint is named and skipped") {
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

TEST_CASE_FIXTURE(InRun, "resumable: it is an error if all checkpoints are broken") {
  SmallRun small;
  for (int i = 0; i < 2; ++i) fs::remove(train_and_save(run, small, 1) / "state.json");
  const std::string message = error_of([&] { find_resumable(run.path()); });
  CHECK(contains(message, "every checkpoint is broken"));
  CHECK(contains(message, "of 2, the newest is step-00000002: "));
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE_FIXTURE(InRun, "verify: every flipped bit is detected, except in the white space of a header") {
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

TEST_CASE_FIXTURE(InRun, "save: NaN weights are rejected, and the last checkpoint is unchanged") {
  SmallRun small;
  const Path good = train_and_save(run, small, 1);
  small.parameters[2].value.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  ++small.state.progress.updates;
  CHECK(contains(error_of([&] { save_checkpoint(run, small.parameters, small.optimizer, small.state); }),
                 "layer.0.bias holds NaN"));
  CHECK(linked_checkpoint(run.path(), "last") == good);
  CHECK(list_checkpoints(run.path()).size() == 1);
}

TEST_CASE_FIXTURE(InRun,
                  "save: on a full disk the earlier checkpoint is unchanged, and no temporary directory is left") {
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

TEST_CASE_FIXTURE(InDirectory, "save: killed at any time, a valid checkpoint remains, and none is incomplete") {
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
