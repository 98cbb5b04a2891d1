// Predicts the time and the memory of a training step on a GPU, from a step on the virtual GPU
// (core/virtual_gpu/virtual_gpu.h) and a model of the GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/train/optim/optimizer_options.h"
#include "tools/workload/gpu/gpu_model.h"
#include "tools/workload/workload.h"

namespace gyre {

// The work of one purpose within an op, or outside of ops.
struct ForecastRow {
  std::string name;  // "linear: product"
  int64_t launches = 0;
  double seconds = 0, bytes = 0, flops = 0;
  bool of_optimizer = false;
};

struct GpuForecast {
  // The step ends when the GPU has finished. busy: the GPU works, or starts a launch. The rest of the step it waits for
  // the host. host: the host queues launches.
  double step_seconds = 0, busy_seconds = 0, host_seconds = 0;
  double forward_seconds = 0, backward_seconds = 0, optimizer_seconds = 0;  // busy
  double flops = 0;                                                         // FLOPs of the model (kTrainingFlopsFactor)
  double bytes = 0;                                                         // read and written
  double tokens = 0;
  int64_t launches = 0;
  int64_t waits = 0, drains = 0;  // waits of the host; drains: those for the last launch so far, which idle the GPU
  // Bytes of tensors: those between steps (weights, gradients, optimizer), the peak, and the regions of the pool.
  double kept_bytes = 0, peak_bytes = 0, pool_bytes = 0;
  std::vector<ProfileRow> ops;    // busy seconds by op, as a measured profile has them
  std::vector<ForecastRow> rows;  // rows by op and purpose, in decreasing order of time
};

// Creates a workload with its parameters on the device.
using WorkloadMaker = std::function<std::unique_ptr<Workload>(Device)>;

// Predicts the second step, because the first one fills caches. No other tensors may be on the virtual GPU.
GpuForecast forecast_step(const WorkloadMaker& make, const OptimizerOptions& options, Precision precision,
                          const GpuModel& model);

// The same step with forward and backward of `micro_batches` of them before the optimizer. `ops` is empty.
GpuForecast with_micro_batches(GpuForecast step, int micro_batches);
// The same step with a batch that is `factor` times as large: the time and the memory of forward and backward grow in
// proportion, the launches stay. `ops` is empty.
GpuForecast extrapolated(GpuForecast step, double factor);

// The prediction for a GPU of a machine.
struct StepPrediction {
  std::string kind;  // the assumed kind of GPU: "h100 (SXM)"; empty on a CPU and for a GPU of an unknown kind
  std::vector<ProfileRow> ops;  // ops, as in GpuForecast; empty without a kind
};

// forecast_step() for the GPU of these kernels, with its measured limits: the FLOP/s of products, and the bandwidth.
StepPrediction predict_step(const Kernels& kernels, Precision precision, double product_flops,
                            const OptimizerOptions& options, const WorkloadMaker& make);

}  // namespace gyre
