// gyre bench gemm: measures the matrix products of the presets' layers, or of square matrices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

// Median times of a product y(n,o) = x(n,d) w(o,d)^T and its two gradients.
struct GemmRow {
  std::string preset, layer, shape;                         // shape: n x d x o; preset: square for square matrices
  double flops;                                             // FLOPs of each of the three products
  double forward_seconds, dinput_seconds, dweight_seconds;  // y = x w^T;  dx = dy w;  dw += dy^T x
};

struct GemmReport {
  std::vector<GemmRow> rows;
  double flops = 0;  // FLOP/s over all rows
  double limit_flops = 0;
};

struct GemmBench {
  std::string preset = "all";  // a name or "all"
  std::vector<int64_t> sizes;  // if not empty, n = d = o of square matrices instead of the layers
  Precision precision = Precision::fp32;
  int repetitions = 10;  // number of runs of each product
};

GemmReport run_gemm_bench(Kernels& kernels, const GemmBench& bench);
Json to_json(const GemmReport& report);
Json rows_json(const GemmReport& report);
void print_rows(const GemmReport& report);

}  // namespace gyre
