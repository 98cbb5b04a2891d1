// Steps of the benchmark: when they wait, and what they compute.
#include "tools/workload/step_runner.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre {
namespace {

constexpr uint64_t kSteps = 3;

std::unique_ptr<Workload> small_workload(Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 100;
  std::unique_ptr<Workload> work = translation_workload(config, 4, 10, {device});
  work->draw_ahead(kSteps);
  return work;
}

}  // namespace

TEST_CASE("a queued step waits once, for the outcome of the update before it") {
  const std::unique_ptr<Workload> work = small_workload(kVirtualGpu);
  SelfCommunicator self;
  StepRunner runner(*work, virtual_kernels(), Precision::bf16, self);
  uint64_t awaited = 0;  // the last readback
  for (uint64_t step = 0; step < kSteps; ++step) {
    const uint64_t before = awaited;
    std::vector<uint64_t> waits;
    size_t launches_before_wait = 0;
    const GpuWorkScope scope([&](const GpuWork& reported) {
      if (reported.kind == GpuWork::Kind::readback) awaited = reported.readback;
      if (reported.kind == GpuWork::Kind::wait) waits.push_back(reported.readback);
      if (waits.empty()) launches_before_wait += size_t(reported.launches);
    });
    runner.queue(step);
    CHECK(awaited != before);
    if (step == 0) continue;  // the first step also copies constants to the GPU, which waits
    CHECK(waits == std::vector<uint64_t>{before});
    CHECK(launches_before_wait > 100);  // forward and backward, which the GPU has to do meanwhile
  }
  std::vector<uint64_t> waits;
  const GpuWorkScope scope([&](const GpuWork& reported) {
    if (reported.kind == GpuWork::Kind::wait) waits.push_back(reported.readback);
  });
  runner.finish();
  CHECK(waits == std::vector<uint64_t>{awaited});
  runner.finish();
  CHECK(waits.size() == 1);
}

TEST_CASE("steps that are queued and steps that are run one by one give the same weights") {
  const auto weights_after = [](bool queued) {
    const std::unique_ptr<Workload> work = small_workload({});
    SelfCommunicator self;
    StepRunner runner(*work, cpu_kernels(), Precision::fp32, self);
    for (uint64_t step = 0; step < kSteps; ++step) queued ? runner.queue(step) : runner.run(step);
    runner.finish();
    return work->parameters().values().to_vector<float>();
  };
  CHECK(weights_after(true) == weights_after(false));
}

}  // namespace gyre
