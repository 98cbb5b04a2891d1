// Predicts the rate of training steps on the CPU of this machine without running the model: from the work that the
// virtual GPU counts (core/virtual_gpu/virtual_gpu.h), a few measured matrix products and the memory bandwidth.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/kernels/precision.h"
#include "tools/workload/workload.h"

namespace gyre {

// Work of forward and backward of a batch.
struct StepWork {
  struct Product {
    int64_t rows = 0, columns = 0, summed = 0;
    double flops = 0;  // FLOPs of all products of this shape
  };
  std::vector<Product> products;  // products by shape, in decreasing order of FLOPs
  double model_flops = 0;         // FLOPs of the model (kTrainingFlopsFactor), to which the rate refers
  double attention_flops = 0;     // FLOPs of products within attention, as far as they are not in `products`
  double bytes = 0;               // read and written by passes over tensors
  double random_numbers = 0;      // drawn for dropout
};

// Counts the work of the batch that was drawn last. `work` has its parameters on the virtual GPU.
StepWork count_work(const Workload& work, Precision precision);

// The FLOP/s of the model in training steps with all threads. Measures the products with the most FLOPs, at sizes up to
// 2048, for about a second. memory: the bandwidth in bytes/s.
double predict_cpu_flops(const StepWork& work, Precision precision, double memory);

}  // namespace gyre
