// Rotary position embedding (Su et al. 2021, eq. 14-16, 34): queries and keys of each head turned by
// position * theta_j, theta_j = base^(-2j / dims), j = 0 .. dims/2 - 1, so that q_m . k_n depends on m - n.
// Learnable frequencies are theta plus a trained offset that starts at zero, shared by the layers of a stack.
// Token i stands at i * step. For texts `factor` times as long as those of training:
//   linear (Chen et al. 2023)   positions / factor
//   ntk (bloc97 2023)           base * factor^(dims / (dims - 2)): the lowest frequency is that of linear
//   yarn (Peng et al. 2023)     frequencies that turn more than 32 times over the original length stay, those that turn
//                               less than once are divided by the factor, a ramp between; what turns is multiplied by
//                               0.1 ln(factor) + 1
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "models/position/constant_table.h"
#include "models/position/position.h"

namespace gyre {
namespace {

// The pair whose frequency turns this many times over the length, as a number between pairs.
double pair_of_turns(double turns, const PositionConfig& c, int64_t dims) {
  const double angle = double(c.rope_original_length) / (turns * 2 * std::numbers::pi);
  return double(dims) * std::log(angle) / (2 * std::log(c.rope_base));
}

// YaRN's share of each pair that is divided by the factor: 0 to 1 along a ramp.
std::vector<double> yarn_shares(const PositionConfig& c, int64_t dims) {
  constexpr double kFast = 32, kSlow = 1;  // turns
  const double first = std::max(std::floor(pair_of_turns(kFast, c, dims)), 0.0);
  const double last = std::min(std::ceil(pair_of_turns(kSlow, c, dims)), double(dims - 1));
  const double width = first == last ? 0.001 : last - first;
  std::vector<double> shares;
  for (int64_t j = 0; j < dims / 2; ++j) shares.push_back(std::clamp((double(j) - first) / width, 0.0, 1.0));
  return shares;
}

Tensor frequencies_of(const PositionConfig& c, int64_t dims) {
  Tensor frequencies = Tensor::empty({dims / 2}, DType::f64);
  const bool yarn = c.rope_scaling == RopeScaling::yarn, ntk = c.rope_scaling == RopeScaling::ntk;
  const double grown = ntk ? std::pow(c.rope_scaling_factor, double(dims) / double(dims - 2)) : 1;
  const std::vector<double> shares = yarn ? yarn_shares(c, dims) : std::vector<double>(size_t(dims / 2));
  for (int64_t j = 0; j < dims / 2; ++j) {
    const double theta = std::pow(c.rope_base * grown, -2.0 * double(j) / double(dims)), share = shares[size_t(j)];
    frequencies.data<double>()[j] = theta * (share / c.rope_scaling_factor + 1 - share);
  }
  return frequencies;
}

void check(const PositionConfig& c, int64_t dims, int64_t width) {
  require(dims % 2 == 0, "[rope] rotary dims must be even, got ", dims);
  require(dims > 0 && dims <= width, "[rope] rotary dims must be between 2 and the width of a head, ", width, ", got ",
          dims);
  require(c.rope_base > 0, "[rope] base must be positive, got ", c.rope_base);
  require(c.rope_step > 0 && std::isfinite(c.rope_step), "[rope] step must be positive, got ", c.rope_step);
  require(c.rope_scaling_factor >= 1 && std::isfinite(c.rope_scaling_factor),
          "[rope] scaling factor must be at least 1, got ", c.rope_scaling_factor);
  require(c.rope_scaling != RopeScaling::ntk || dims >= 4, "[rope] ntk scaling needs rotary dims of at least 4, got ",
          dims);
  if (c.rope_scaling != RopeScaling::yarn) return;
  require(c.rope_base > 1, "[rope] yarn scaling needs a base above 1, got ", c.rope_base);
  require(c.rope_original_length >= 1, "[rope] original length must be at least 1, got ", c.rope_original_length);
}

class Rope final : public PositionEncoding {
 public:
  explicit Rope(const PositionContext& c) {
    const int64_t width = c.rotated_width > 0 ? c.rotated_width : c.dim / c.heads;
    const int64_t dims = c.config.rotary_dims == 0 ? width : c.config.rotary_dims;
    check(c.config, dims, width);
    const double factor = c.config.rope_scaling_factor;
    rotary_ = {.heads = int(c.heads),
               .dims = int(dims),
               .pairs = c.config.rope_pairs,
               .magnitude = c.config.rope_scaling == RopeScaling::yarn ? 0.1 * std::log(factor) + 1 : 1,
               .step = c.config.rope_step / (c.config.rope_scaling == RopeScaling::linear ? factor : 1)};
    frequencies_ = ConstantTable(frequencies_of(c.config, dims));
    if (c.config.rope_learnable)
      offsets_ = &c.parameters.add(c.name + ".frequency_offsets", {dims / 2}, Init::constant(0), /*decay=*/false);
  }

  Rotation rotation(Tape& tape, DType dtype, int64_t positions) const override {
    const Device device = tape.kernels().device();
    if (offsets_) {
      const Var frequencies = add(tape.constant(frequencies_.as(dtype, device)), tape.parameter(*offsets_));
      return make_rotation(frequencies, positions, rotary_);
    }
    const bool kept = angles_ && angles_.dtype() == dtype && angles_.device() == device;
    if (!kept || angles_.dim(0) < positions) {
      const auto rows = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(positions, 64))));
      angles_ = Tensor::empty({rows, 2 * rotary_.dims}, dtype, device);
      tape.kernels().rotary_angles(angles_, frequencies_.exact(), rotary_);
    }
    return {rotary_, angles_, {}};
  }

 private:
  Rotary rotary_;
  ConstantTable frequencies_;
  Parameter* offsets_ = nullptr;
  mutable Tensor angles_;  // of fixed frequencies: all layers and steps share them, longer sentences make them grow
};

}  // namespace

std::unique_ptr<PositionEncoding> make_rope(const PositionContext& context) { return std::make_unique<Rope>(context); }

}  // namespace gyre
