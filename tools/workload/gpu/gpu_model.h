// Kinds of GPUs as figures, and the time that work takes on them. No figure was measured with Gyre: each is that of a
// data sheet or an assumption (GpuModel::assumptions), and can be replaced by a measured one.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre {

struct GpuModel {
  std::string name;    // name for --device: h200
  std::string device;  // a word of the name that the driver reports: H200

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

}  // namespace gyre
