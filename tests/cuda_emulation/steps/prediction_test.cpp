// The work that the virtual GPU reports for training steps is that of the CUDA kernels: the same launches of each
// kernel, and about the same bytes.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cuda.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/optim/optimizer.h"
#include "gyre/train/tasks/to_tensor.h"
#include "gyre/train/tasks/translation/pair_input.h"
#include "tests/cuda_emulation/accesses/recording.h"

namespace gyre::test {
namespace {

using cuda_emulation::RecordedWork, cuda_emulation::Recording, cuda_emulation::WorkKind;

struct StepWork {
  std::map<std::string, int> launches;  // by the name of the kernel, without template arguments
  double bytes = 0;
};

// A training step on four pairs of sentences of shortest, shortest + step, .. tokens.
struct Step {
  std::string_view name;
  Precision precision;
  int64_t dim, heads;
  std::string positions;
  int shortest, step;
};

PairInput batch_of(const Step& step) {
  PairPacker packer(1, 2);
  for (int i = 0; i < 4; ++i) {
    const auto length = size_t(step.shortest + i * step.step);
    packer.add(std::vector<int32_t>(length, 5), std::vector<int32_t>(length - 2, 6));
  }
  return pair_input(packer.finish());
}

// Runs the step twice on the device and calls `around` with the second time.
template <class Around>
void run_steps(Kernels& kernels, const Step& step, const Around& around) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 128;
  config.dim = step.dim;
  config.ffn = 128;
  config.heads = step.heads;
  config.encoder_layers = config.decoder_layers = 1;
  config.position.encoding = step.positions;
  EncoderDecoder model(config);
  model.parameters().allocate(1, DType::f32, kernels.device());
  Optimizer optimizer(model.parameters(), kernels, {});
  const PairInput batch = batch_of(step);
  const auto run = [&] {
    Tape tape(kernels, {.record = true,
                        .training = true,
                        .seed = 1,
                        .precision = step.precision,
                        .loss_seeded = true,
                        .parameters = &model.parameters()});
    tape.backward(model.loss(tape, batch, 0.1).loss);
    optimizer.update(double(batch.target_outputs.size()));
  };
  run();
  around(run);
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
      {"adam", {"adam_kernel"}},
      {"attention", {"packed_forward"}},
      {"attention gradient", {"packed_backward"}},
      {"attention gradient of keys", {"backward_of_keys"}},
      {"attention gradient of queries", {"backward_of_queries"}},
      {"attention gradient without tensor cores", {"plain_backward_queries", "plain_backward_keys"}},
      {"attention of long segments", {"long_forward"}},
      {"attention without tensor cores", {"plain_forward"}},
      {"bias gradient", {"partial_sums_kernel", "add_partials_kernel"}},
      {"cross-entropy and gradient", {"replace_rows", "add_terms"}},
      {"dropout", {"dropout_kernel"}},
      {"gradient norm", {"squares_kernel"}},
      {"lookup", {"gather"}},
      {"norm", {"forward_kernel"}},
      {"norm gradient", {"backward_kernel", "add_partials_kernel"}},
      {"product", {"cublasLtMatmul"}},
      {"rotary angles", {"fill_angles"}},
      {"rotation", {"rotate_rows"}},
      {"rounding to bf16", {"round_kernel"}},
      {"sum", {"map_kernel"}},
      {"sums by id", {"add_pieces", "add_slots"}},
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
  // Attention on tensor cores, of short and of long segments and with heads of 32, 64 and 128 features, and attention
  // without tensor cores.
  const std::vector<Step> steps{{"plain attention", Precision::fp32, 64, 2, "sinusoidal", 20, 2},
                                {"short segments", Precision::bf16, 64, 2, "sinusoidal", 20, 2},
                                {"short segments, rotated", Precision::bf16, 64, 1, "rope", 20, 2},
                                {"long segments, rotated", Precision::bf16, 64, 1, "rope", 70, 20},
                                {"short and long segments of wide heads", Precision::bf16, 128, 1, "rope", 50, 10}};
  for (const Step& step : steps) {
    CAPTURE(step.name);
    const StepWork cuda = emulated(step), reported = predicted(step);
    CHECK_MESSAGE(reported.launches == cuda.launches, "virtual GPU:", listing(reported), "\nCUDA:", listing(cuda));
    CHECK(reported.bytes == doctest::Approx(cuda.bytes).epsilon(0.15));
  }
}

}  // namespace gyre::test
