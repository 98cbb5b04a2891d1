// gyre bench gemm: measures the matrix products of the presets' layers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

// Median times of a product y(n,o) = x(n,d) w(o,d)^T and its two gradients.
struct GemmRow {
  std::string preset, layer, shape;                         // shape: n x d x o
  double flops;                                             // of each of the three products
  double forward_seconds, dinput_seconds, dweight_seconds;  // y = x w^T;  dx = dy w;  dw += dy^T x
};

struct GemmReport {
  std::vector<GemmRow> rows;
  double flops = 0;  // FLOP/s over all rows
  double limit_flops = 0;
};

// preset: a name or "all". repetitions: runs of each product.
GemmReport run_gemm_bench(Kernels& kernels, const std::string& preset, Precision precision, int repetitions);
nlohmann::ordered_json to_json(const GemmReport& report);
nlohmann::ordered_json rows_json(const GemmReport& report);
void print_rows(const GemmReport& report);

}  // namespace gyre
