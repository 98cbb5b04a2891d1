// The work that the virtual GPU reports for training steps is that of the CUDA kernels: the same launches in the same
// numbers, and about the same bytes.
#include <doctest/doctest.h>

#include "gyre/core/hardware/cuda.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/optim/optimizer.h"
#include "gyre/train/tasks/to_tensor.h"
#include "gyre/train/tasks/translation/pair_input.h"
#include "tests/cuda_emulation/accesses/recording.h"

namespace gyre::test {
namespace {

struct StepWork {
  size_t launches = 0, products = 0;
  double bytes = 0;
};

PairInput batch_of(int pairs) {
  PairPacker packer(1, 2);
  for (int i = 0; i < pairs; ++i) packer.add(std::vector<int32_t>(size_t(20 + i % 7), 5), std::vector<int32_t>(25, 6));
  return pair_input(packer.finish());
}

// Runs two steps on the device and calls `around` with the second one.
template <class Around>
void run_steps(Kernels& kernels, Precision precision, const Around& around) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 128;
  config.dim = 64;
  config.ffn = 128;
  config.heads = 2;
  EncoderDecoder model(config);
  model.parameters().allocate(1, DType::f32, kernels.device());
  Optimizer optimizer(model.parameters(), kernels, {});
  const PairInput batch = batch_of(12);
  const auto step = [&] {
    Tape tape(kernels, {.record = true,
                        .training = true,
                        .seed = 1,
                        .precision = precision,
                        .loss_seeded = true,
                        .parameters = &model.parameters()});
    tape.backward(model.loss(tape, batch, 0.1).loss);
    optimizer.update(12 * 25);
  };
  step();
  around(step);
}

StepWork emulated(Precision precision) {
  StepWork sum;
  run_steps(cuda_kernels(0), precision, [&](const auto& step) {
    cuda_emulation::start_recording();
    step();
    const cuda_emulation::Recording recording = cuda_emulation::stop_recording();
    sum = {recording.launches(), recording.count(cuda_emulation::WorkKind::product),
           double(recording.bytes_read() + recording.bytes_written())};
  });
  return sum;
}

StepWork predicted(Precision precision) {
  StepWork sum;
  run_steps(virtual_kernels(), precision, [&](const auto& step) {
    const GpuWorkScope scope([&](const GpuWork& work) {
      sum.bytes += work.bytes;
      if (work.kind == GpuWork::Kind::wait || work.name == "memset" || work.name == "copy") return;
      sum.launches += size_t(work.launches);
      sum.products += work.kind == GpuWork::Kind::product;
    });
    step();
  });
  return sum;
}

}  // namespace

TEST_CASE("the virtual GPU reports the launches and the bytes of the CUDA kernels") {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    CAPTURE(precision_name(precision));
    const StepWork cuda = emulated(precision), reported = predicted(precision);
    CHECK(reported.products == cuda.products);
    CHECK(reported.launches == cuda.launches);
    CHECK(reported.bytes == doctest::Approx(cuda.bytes).epsilon(0.15));
  }
}

}  // namespace gyre::test
