// The work that the virtual GPU reports for training steps is that of the CUDA kernels: the same launches of each
// kernel, and about the same bytes.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cuda.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/optim/optimizer.h"
#include "gyre/train/tasks/inputs.h"
#include "tests/cuda_emulation/accesses/recording.h"
#include "tests/models/tiny_encoder.h"

namespace gyre::test {
namespace {

using cuda_emulation::RecordedWork, cuda_emulation::Recording, cuda_emulation::WorkKind;

struct StepWork {
  std::map<std::string, int> launches;  // number by name of the kernel, without template arguments
  double bytes = 0;
};

// A training step on four sentences of shortest, shortest + step, .. tokens: of an encoder-decoder on pairs, of a
// masked language model with linear attention, of a LLaMA, or of a regression from the mean of a text.
struct Step {
  std::string_view name;
  Precision precision;
  int64_t dim, heads;
  std::string positions;
  int shortest, step;
  enum class Model : uint8_t { translation, linear_attention, llama, regression } model = Model::translation;
  double r_drop = 0;  // only of translation
  std::string optimizer = "adam";

  std::vector<std::vector<int32_t>> sentences() const {
    std::vector<std::vector<int32_t>> all;
    for (int i = 0; i < 4; ++i) all.emplace_back(size_t(shortest + i * this->step), 5);
    return all;
  }
};

template <class Config>
Config narrow(const Step& step, const std::string& preset) {
  Config config = Config::preset(preset);
  config.vocab_size = 128;
  config.dim = step.dim;
  config.ffn = 128;
  config.heads = step.heads;
  config.position.encoding = step.positions;
  return config;
}

// Runs the step twice and calls `around` with the second time.
template <class Model, class Around>
void train(Kernels& kernels, Model& model, const Step& step, const std::function<LossResult(Tape&)>& loss,
           const Around& around) {
  model.parameters().allocate(1, DType::f32, kernels.device());
  OptimizerOptions options;
  options.kind = step.optimizer;
  options.precision = step.precision;
  Optimizer optimizer(model.parameters(), kernels, options);
  const auto run = [&] {
    Tape tape(kernels, {.record = true,
                        .training = true,
                        .seed = 1,
                        .precision = step.precision,
                        .loss_seeded = true,
                        .parameters = &model.parameters()});
    const LossResult result = loss(tape);
    tape.backward(result.loss);
    optimizer.update(double(result.predictions));
  };
  run();
  around(run);
}

EncoderOnlyConfig single_stack(const Step& step) {
  const bool llama = step.model == Step::Model::llama;
  auto config = narrow<EncoderOnlyConfig>(step, llama ? "llama-tiny" : "mlm-small");
  config.layers = 1;
  if (llama) {
    config.kv_heads = 1;
    config.dropout = 0.1;
    config.qk_norm = step.optimizer != "muon";
  } else if (step.model == Step::Model::linear_attention) {
    config.attention.kind = AttentionKind::linear;
    config.attention.linear_map = FeatureMap::softmax;
  }
  return config;
}

template <class Around>
void run_steps(Kernels& kernels, const Step& step, const Around& around) {
  if (step.model == Step::Model::regression) {
    SequenceClassifier model({.encoder = single_stack(step), .head = ClassifierHead::mean, .classes = 1});
    const MaskedInput texts = masked_batch(step.sentences());
    const LabeledInput batch{texts.ids, texts.segments, Tensor::zeros({texts.segments.count()})};
    return train(
        kernels, model, step, [&](Tape& tape) { return model.loss(tape, batch); }, around);
  }
  if (step.model != Step::Model::translation) {
    EncoderOnly model(single_stack(step));
    MaskedInput batch = masked_batch(step.sentences());
    batch.masked_rows = {};  // all rows are predicted
    batch.targets = batch.ids;
    return train(
        kernels, model, step, [&](Tape& tape) { return model.loss(tape, batch); }, around);
  }
  auto config = narrow<EncoderDecoderConfig>(step, "transformer-tiny");
  config.encoder_layers = config.decoder_layers = 1;
  EncoderDecoder model(config);
  PairPacker packer(1, 2);
  for (const std::vector<int32_t>& source : step.sentences())
    packer.add(source, std::vector<int32_t>(source.size() - 2, 6));
  const PairInput batch = pair_input(packer.finish());
  train(
      kernels, model, step,
      [&](Tape& tape) {
        return step.r_drop > 0 ? model.r_drop_loss(tape, batch, 0.1, step.r_drop) : model.loss(tape, batch, 0.1);
      },
      around);
}

StepWork emulated(const Step& step) {
  StepWork sum;
  run_steps(cuda_kernels(0), step, [&](const auto& run) {
    cuda_emulation::start_recording();
    run();
    const Recording recording = cuda_emulation::stop_recording();
    for (const RecordedWork& work : recording.work) {
      if (work.kind == WorkKind::kernel || work.kind == WorkKind::product)
        ++sum.launches[work.name.substr(0, work.name.find('<'))];
    }
    sum.bytes = double(recording.bytes_read() + recording.bytes_written());
  });
  return sum;
}

// The kernels of the work that the virtual GPU reports under this name, in the order of their launches.
std::vector<std::string> kernels_of(std::string_view work) {
  static const std::map<std::string_view, std::vector<std::string>> kernels{
      {"activation gradient", {"partial_sums_kernel", "add_partials_kernel"}},
      {"activation", {"activate_kernel"}},
      {"adam", {"adam_kernel"}},
      {"arithmetic", {"map_kernel"}},
      {"arithmetic gradient", {"write_kernel"}},
      {"arithmetic with repetition", {"write_kernel"}},
      {"decay and step", {"map_kernel"}},
      {"division by norm", {"inverse_norm_kernel", "map_kernel"}},
      {"attention", {"packed_forward"}},
      {"attention gradient", {"packed_backward"}},
      {"attention gradient of keys", {"backward_of_keys"}},
      {"attention gradient of queries", {"backward_of_queries"}},
      {"attention gradient without tensor cores", {"plain_backward_queries", "plain_backward_keys"}},
      {"attention of long segments", {"long_forward"}},
      {"attention without tensor cores", {"plain_forward"}},
      {"bias gradient", {"partial_sums_kernel", "add_partials_kernel"}},
      {"conversion", {"convert_kernel"}},
      {"copy of columns", {"copy_columns_kernel"}},
      {"cross-entropy and gradient", {"replace_rows", "add_terms"}},
      {"R-Drop and gradient", {"replace_pairs", "add_terms"}},
      {"dropout", {"dropout_kernel"}},
      {"elementwise activation", {"map_kernel"}},
      {"elementwise activation gradient", {"map_kernel"}},
      {"function", {"map_kernel"}},
      {"gated activation", {"gated_forward"}},
      {"gated activation gradient", {"gated_backward"}},
      {"gradient norm", {"squares_kernel"}},
      {"lion", {"lion_kernel"}},
      {"lookup", {"gather"}},
      {"momentum", {"momentum_kernel"}},
      {"Newton-Schulz polynomial", {"polynomial_kernel"}},
      {"norm", {"forward_kernel"}},
      {"norm gradient", {"backward_kernel", "add_partials_kernel"}},
      {"product", {"cublasLtMatmul"}},
      {"repetition", {"write_kernel"}},
      {"rotary angles", {"fill_angles"}},
      {"rotation", {"rotate_rows"}},
      {"row normalization", {"normalize_kernel"}},
      {"scan", {"scan_kernel"}},
      {"softmax", {"softmax_kernel"}},
      {"softmax gradient", {"backward_kernel"}},
      {"sum", {"map_kernel"}},
      {"sum of all elements", {"block_sums_kernel", "add_blocks_kernel"}},
      {"sums", {"write_kernel"}},
      {"sums by id", {"add_pieces", "add_slots"}},
      {"sums of columns", {"partial_sums_kernel", "add_partials_kernel"}},
      {"sums of groups of heads", {"add_groups_kernel", "add_groups_kernel"}},
      {"sums of rows", {"row_sums_kernel"}},
      {"verdict", {"judge_kernel"}},
  };
  const auto found = kernels.find(work);
  return found == kernels.end() ? std::vector<std::string>{} : found->second;
}

StepWork predicted(const Step& step) {
  StepWork sum;
  run_steps(virtual_kernels(), step, [&](const auto& run) {
    const GpuWorkScope scope([&](const GpuWork& work) {
      sum.bytes += work.bytes;
      if (work.kind == GpuWork::Kind::wait || work.kind == GpuWork::Kind::readback) return;
      if (work.name == "memset" || work.name == "copy") return;
      const std::vector<std::string> kernels = kernels_of(work.name);
      CAPTURE(work.name);
      REQUIRE(kernels.size() >= size_t(work.launches));
      for (int i = 0; i < work.launches; ++i) ++sum.launches[kernels[size_t(i)]];
    });
    run();
  });
  return sum;
}

std::string listing(const StepWork& work) {
  std::string text;
  for (const auto& [kernel, launches] : work.launches) text += concat("\n  ", launches, " x ", kernel);
  return text;
}

}  // namespace

TEST_CASE("the virtual GPU reports the launches and the bytes of the CUDA kernels") {
  // Attention on tensor cores, of short and of long segments and with heads of 32, 64 and 128 features, attention
  // without tensor cores, linear attention, and a LLaMA with one head of keys; then other losses and optimizers. Linear
  // attention and the regression have ops that run composed on GPUs.
  using enum Step::Model;
  const std::vector<Step> steps{{"plain attention", Precision::fp32, 64, 2, "sinusoidal", 20, 2},
                                {"short segments", Precision::bf16, 64, 2, "sinusoidal", 20, 2},
                                {"short segments, rotated", Precision::bf16, 64, 1, "rope", 20, 2},
                                {"long segments, rotated", Precision::bf16, 64, 1, "rope", 70, 20},
                                {"short and long segments of wide heads", Precision::bf16, 128, 1, "rope", 50, 10},
                                {"linear attention", Precision::bf16, 64, 2, "rope", 20, 2, linear_attention},
                                {"LLaMA, short segments", Precision::bf16, 64, 2, "rope", 20, 2, llama},
                                {"LLaMA, long segments", Precision::bf16, 128, 2, "rope", 70, 20, llama},
                                {"regression", Precision::bf16, 64, 2, "rope", 20, 2, regression},
                                {"R-Drop", Precision::bf16, 64, 2, "sinusoidal", 20, 2, translation, 5},
                                {"Lion", Precision::bf16, 64, 2, "rope", 20, 2, llama, 0, "lion"},
                                {"NorMuon", Precision::bf16, 64, 2, "rope", 20, 2, llama, 0, "normuon"},
                                {"Muon", Precision::bf16, 64, 2, "rope", 20, 2, llama, 0, "muon"}};
  for (const Step& step : steps) {
    CAPTURE(step.name);
    const StepWork cuda = emulated(step), reported = predicted(step);
    CHECK_MESSAGE(reported.launches == cuda.launches, "virtual GPU:", listing(reported), "\nCUDA:", listing(cuda));
    CHECK(reported.bytes == doctest::Approx(cuda.bytes).epsilon(0.15));
  }
}

}  // namespace gyre::test
