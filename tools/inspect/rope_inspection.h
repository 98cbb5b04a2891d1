// Inspects the op rope at given positions in f64, for gyre inspect rope. All numbers come from the op's forward and
// backward; only the matrix that they are compared with is computed here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"
#include "gyre/models/position/position.h"
#include "gyre/models/position/rope.h"

namespace gyre {

struct RopeCheck {
  std::string what;
  double deviation = 0;  // relative to the expected values
  double bound = 0;
  bool passed() const { return deviation <= bound; }  // NaN fails
};

struct RopeInspection {
  RopeShape rotary;
  std::vector<int32_t> positions;
  std::vector<double> frequencies;           // (dims/2): theta, radians per position
  std::vector<Tensor> matrices, transposes;  // (dim, dim) by position: forward and backward of the unit vectors
  Tensor scores;                             // (positions, positions): (R_m q) . (R_n k) / |q||k|, m down, n across
  // (dims/2): gradient of a random contraction of R x.
  std::vector<GradcheckEntry> frequency_gradient;
  std::vector<RopeCheck> checks;
  bool passed() const;
};

// The two features of pair i of a head: (2i, 2i+1) if interleaved, else (i, i + dims/2).
std::pair<int64_t, int64_t> rotary_pair(const RopeShape& rotary, int64_t i);

using RopeOp = std::function<Var(const Var& x, const Rope& rotation, const Tensor& positions)>;

// Inspects a head of `dim` features with the rotation that `options` define and random vectors of a fixed seed.
// Throws if the encoding rejects `options`, and for empty or negative positions. Tests pass an `op` other than Gyre's
// own.
RopeInspection inspect_rope(const RopeOptions& options, int64_t dim, const std::vector<int32_t>& positions,
                            Kernels& kernels, const RopeOp& op = rope);

}  // namespace gyre
