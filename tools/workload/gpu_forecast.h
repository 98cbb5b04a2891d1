// Predicts the time and the memory of a training step on a GPU, from a step on the virtual GPU
// (core/virtual_gpu/virtual_gpu.h) and a model of the GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/train/optim/optimizer_options.h"
#include "tools/workload/workload.h"

namespace gyre {

// Kinds of GPUs as figures, and the time that work takes on them. Each figure is that of a data sheet, an assumption,
// or for some kinds a measurement with Gyre (GpuModel::assumptions), and can be replaced by a measured one.
struct GpuModel {
  std::string name;               // name for --device: h200
  std::string device;             // a word of the name that the driver reports: H200
  const char* rates = "assumed";  // the source of bf16_products and copy_bandwidth, or "measured"

  // FLOP/s of matrix products of large matrices (measure_cuda_products), and the peaks of the data sheet.
  double bf16_products = 0, bf16_peak = 0, tf32_peak = 0, fp32_peak = 0;
  double copy_bandwidth = 0, peak_bandwidth = 0;  // bytes/s, read plus written: of a large copy, and of the data sheet
  double memory = 0;                              // bytes
  int multiprocessors = 0;
  double node_link = 0;  // bytes/s between GPUs of a node, in each direction
  double network = 0;    // bytes/s of a GPU's network adapter, in each direction

  // Assumptions that are the same for all kinds.
  double launch = 6e-6;                // seconds of the host per launch, including the work of the tape
  double gap = 2e-6;                   // seconds of the GPU between two launches
  double wait = 20e-6;                 // seconds until the host continues after a wait
  double pass_share = 0.9;             // bandwidth of a pass, relative to a copy
  double product_depth = 320;          // a product that sums k numbers reaches k / (k + product_depth) of the rate
  double arithmetic_share = 0.15;      // share of fp32_peak that attention without tensor cores reaches
  double random_numbers = 0.7e12;      // numbers per second
  double attention_block = 2.5e-6;     // seconds of an attention block besides its products
  double attention_product = 1.25e-6;  // seconds of a product of 64 x 64 tiles of 64 features, on one block
  double reserved = 0.6e9;             // bytes of the driver, the CUDA context and the workspace of products
  double nccl_buffers = 0.5e9;         // bytes, with several GPUs
  int node_gpus = 8;
  double link_share = 0.8;                              // share of node_link and network that an all-reduce reaches
  double node_latency = 3e-6, network_latency = 12e-6;  // seconds per message
  double host_copy = 10e9;                              // bytes/s between GPU memory and pageable memory of the CPU
  double host_sum = 3e9;  // bytes/s of an all-reduce of a process in the memory of the CPU, by MPI within a node

  double products(Precision precision) const;  // FLOP/s of large products
  // Sets the FLOP/s of large products of this precision, and those of the others in proportion.
  void set_products(Precision precision, double rate) { bf16_products *= rate / products(precision); }
  double pass_bandwidth() const { return pass_share * copy_bandwidth; }
  // Seconds that the GPU is busy with the work, including gaps.
  double seconds(const GpuWork& work) const;

  // The share of the rate of large products that a product (m,k) x (k,n) reaches. It is computed in tiles, one per
  // multiprocessor at a time; with few tiles, the sum is split into `splits` parts, which are added afterwards.
  struct ProductShape {
    double share = 0;
    int64_t splits = 1;
  };
  ProductShape product_shape(int64_t m, int64_t n, int64_t k) const;

  // One line per figure, with its source: the data sheet, assumed, or given instead of that of the kind `name`.
  std::vector<std::string> assumptions() const;
};

std::vector<std::string> gpu_model_names();
// The kind with this name (h200), or nullptr.
const GpuModel* find_gpu_model(const std::string& name);
// The kind of a device by the driver's name ("NVIDIA H200"), or nullptr. All kinds are SXM modules; a PCIe card of the
// same name ("NVIDIA H100 PCIe") is taken for one, although it is slower.
const GpuModel* gpu_model_of_device(const std::string& device);

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
