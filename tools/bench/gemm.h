// gyre bench gemm: the products of the presets' layers through core/gemm.h.
#pragma once

#include <string>
#include <vector>

namespace gyre {

// A product y(n,o) = x(n,d) w(o,d)^T and its two gradients, by the medians of their runs.
struct GemmRow {
  std::string preset, layer, shape;                         // shape: n x d x o
  double flops;                                             // of each of the three
  double forward_seconds, dinput_seconds, dweight_seconds;  // y = x w^T;  dx = dy w;  dw += dy^T x
};

struct GemmReport {
  std::vector<GemmRow> rows;
  double flops = 0;  // a second, over all rows
  double limit_flops = 0;
};

// preset: or "all". repetitions: of each product.
GemmReport run_gemm_bench(const std::string& preset, int repetitions);
void print_gemm(const GemmReport& report, bool json);

}  // namespace gyre
