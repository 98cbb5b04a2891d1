// Rotary position embedding (Su et al. 2021, eq. 14-16, 34): queries and keys of each head turned by
// position * theta_j, theta_j = base^(-2j / dims), j = 0 .. dims/2 - 1, so that q_m . k_n depends on m - n.
// Learnable frequencies are theta plus a trained offset that starts at zero, shared by the layers of a stack.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/position/constant_table.h"
#include "models/position/position.h"

namespace gyre {
namespace {

class Rope final : public PositionEncoding {
 public:
  explicit Rope(const PositionContext& c) {
    const int64_t width = c.dim / c.heads, dims = c.config.rotary_dims == 0 ? width : c.config.rotary_dims;
    require(dims % 2 == 0, "[rope] rotary dims must be even, got ", dims);
    require(dims > 0 && dims <= width, "[rope] rotary dims must be between 2 and the width of a head, ", width,
            ", got ", dims);
    require(c.config.rope_base > 0, "[rope] base must be positive, got ", c.config.rope_base);
    rotary_ = {.heads = int(c.heads), .dims = int(dims), .pairs = c.config.rope_pairs};
    const Tensor frequencies = Tensor::empty({dims / 2}, DType::f64);
    for (int64_t j = 0; j < dims / 2; ++j)
      frequencies.data<double>()[j] = std::pow(c.config.rope_base, -2.0 * double(j) / double(dims));
    frequencies_ = ConstantTable(frequencies);
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
