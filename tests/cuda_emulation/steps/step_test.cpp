// The work that training steps give to a GPU: the number of launches, and the waits of the CPU.
#include "gyre/train/step.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/models/encoder_decoder.h"
#include "tests/cuda_emulation/accesses/recording.h"
#include "tests/gpu.h"
#include "tests/models/tiny_model.h"

namespace gyre::test {
namespace {

// A transformer-base with narrow layers, whose attention uses tensor cores.
EncoderDecoderConfig narrow_base() {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-base");
  config.vocab_size = 64;
  config.dim = 64;
  config.ffn = 128;
  config.heads = 2;
  return config;
}

class Base final : public TrainingModel {
 public:
  explicit Base(Device device) : model_(narrow_base()) { model_.parameters().allocate(1, DType::f32, device); }
  Parameters& parameters() override { return model_.parameters(); }
  std::string describe() const override { return "transformer-base with narrow layers"; }
  Json config() const override { return {}; }
  LossResult loss(Tape& tape, const PairInput& batch) const { return model_.loss(tape, batch, 0.1); }

 private:
  EncoderDecoder model_;
};

// Trains on one batch, and reads the figures of each step a step later, as the trainer does.
class Training {
 public:
  explicit Training(Kernels& gpu)
      : model_(gpu.device()),
        reducer_(self_, gpu, model_.parameters(), {}),
        optimizer_(model_.parameters(), gpu, options(), &reducer_),
        step_(model_, optimizer_, reducer_, gpu, self_, {.precision = Precision::bf16}) {
    const PairInput pairs = make_batch(random_sentences(6, 20, 64, 1), random_sentences(6, 20, 64, 2));
    batch_.predictions = uint64_t(pairs.target_outputs.size());
    batch_.micro_batches.push_back(
        {[this, pairs](Tape& tape) { return model_.loss(tape, pairs); }, batch_.predictions});
  }
  void start() {
    step_.start(
        updates_++, [this]() -> const RankBatch& { return batch_; }, [] { return StopRequest::none; }, seconds_,
        [this] {
          if (updates_ > 1) step_.finish();
        });
  }
  StepResult finish() { return step_.finish(); }

 private:
  static OptimizerOptions options() {
    OptimizerOptions options;
    options.kind = "adamw";
    options.weight_decay = 0.01;
    options.clip_norm = 1;
    options.ema = 0.999;
    return options;
  }

  SelfCommunicator self_;
  Base model_;
  GradientReducer reducer_;
  Optimizer optimizer_;
  TrainStep step_;
  RankBatch batch_;
  StepSeconds seconds_;
  uint64_t updates_ = 0;
};

// The kernels by their number: "120 x product, 36 x ..".
std::string listing(const cuda_emulation::Recording& recording) {
  std::map<std::string, int> counts;
  for (const cuda_emulation::RecordedWork& work : recording.work) {
    const bool launched =
        work.kind == cuda_emulation::WorkKind::kernel || work.kind == cuda_emulation::WorkKind::product;
    counts[work.name.substr(0, work.name.find('<')) + (launched ? "" : " (not a kernel)")] += 1;
  }
  std::multimap<int, std::string, std::greater<>> sorted;
  for (const auto& [name, count] : counts) sorted.emplace(count, name);
  std::string text;
  for (const auto& [count, name] : sorted) text += concat("\n  ", count, " x ", name);
  return text;
}

TEST_CASE("training steps of a transformer-base launch few kernels, and never leave the GPU without work") {
  Kernels* const gpu = test_gpu();
  if (!gpu) return;
  constexpr size_t kMostLaunches = 430;
  Training training(*gpu);
  for (int i = 0; i < 2; ++i) training.start();
  cuda_emulation::start_recording();
  training.start();
  const cuda_emulation::Recording recording = cuda_emulation::stop_recording();
  MESSAGE("a step: ", recording.launches(), " launches, ", recording.waits, " waits, ", recording.drains, " drains",
          listing(recording));
  CHECK(recording.launches() <= kMostLaunches);
  CHECK(recording.drains == 0);
  CHECK(recording.waits == 2);  // for the loss and for the verdict of the previous step
  const StepResult last = training.finish();
  CHECK(last.update.accepted);
  CHECK(std::isfinite(last.sums.loss));
}

}  // namespace
}  // namespace gyre::test
