// Budgets of a training step on a GPU: launches, waits of the host, bytes, and the predicted rate. The launches and
// bytes are those of the virtual GPU, which tests/cuda_emulation compares with the CUDA kernels.
#include <doctest/doctest.h>

#include <string>

#include "tools/workload/gpu_forecast.h"

namespace gyre {
namespace {

struct Budget {
  std::string preset;
  double bytes;  // bytes of all passes over memory
  double share;  // least share of the rate of large products
};

// 833 pairs of sentences of 30 tokens: 25k source and 25k target tokens.
GpuForecast step_of(const std::string& preset) {
  constexpr int kPairs = 833, kLength = 30;
  const auto make = [&](Device device) {
    EncoderDecoderConfig config = EncoderDecoderConfig::preset(preset);
    config.vocab_size = 32000;
    return translation_workload(config, kPairs, kLength, {device});
  };
  return forecast_step(make, {}, Precision::bf16, *find_gpu_model("h200"));
}

}  // namespace

TEST_CASE("training steps of transformer-base and transformer-big keep their budget on a GPU") {
  constexpr double kGiga = 1e9;
  constexpr int64_t kLaunches = 430;
  for (const Budget& budget : {Budget{"transformer-base", 49 * kGiga, 0.48}, {"transformer-big", 94 * kGiga, 0.55}}) {
    const GpuForecast step = step_of(budget.preset);
    const double share = step.flops / step.step_seconds / find_gpu_model("h200")->products(Precision::bf16);
    MESSAGE(budget.preset, ": ", step.launches, " launches, ", step.waits, " waits, ", step.drains, " drains, ",
            step.bytes / kGiga, " GB of passes over memory, predicted ", 1e3 * step.step_seconds, " ms, ", 100 * share,
            " % of the rate of large products");
    CHECK(step.launches <= kLaunches);
    CHECK(step.waits == 1);  // for the outcome of the previous update
    CHECK(step.drains == 0);
    CHECK(step.bytes <= budget.bytes);
    CHECK(share >= budget.share);
  }
}

}  // namespace gyre
