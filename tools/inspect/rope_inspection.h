// What the op rope does at given positions, in f64: numbers to look at, and what they must be. All of them come out of
// the op's forward and backward; only the matrix that they are compared with is made here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "models/position/position.h"

namespace gyre {

struct RopeCheck {
  std::string what;
  double deviation = 0;  // relative to what is expected
  double bound = 0;
  bool passed() const { return deviation <= bound; }  // NaN fails
};

struct RopeInspection {
  Rotary rotary;
  std::vector<int32_t> positions;
  std::vector<double> frequencies;           // (dims/2): theta, radians per position
  std::vector<Tensor> matrices, transposes;  // (dim, dim) by position: forward and backward of the unit vectors
  Tensor scores;                             // (positions, positions): (R_m q) . (R_n k) / |q||k|, m down, n across
  // (dims/2) of a random contraction of R x.
  std::vector<GradcheckEntry> frequency_gradient;
  std::vector<RopeCheck> checks;
  bool passed() const;
};

// The features of pair i of a head: (2i, 2i+1), or (i, i + dims/2).
std::pair<int64_t, int64_t> rotary_pair(const Rotary& rotary, int64_t i);

using RopeOp = std::function<Var(const Var& x, const Rotation& rotation, const Tensor& positions)>;

// Of a head of `dim` features whose rotation `config` describes; its vectors are random, of a fixed seed. Throws where
// the encoding does. Another `op` than Gyre's own is for tests.
RopeInspection inspect_rope(const PositionConfig& config, int64_t dim, const std::vector<int32_t>& positions,
                            Kernels& kernels, const RopeOp& op = rope);

}  // namespace gyre
