// Rotary position embedding (Su et al. 2021, eq. 14-16, 34): rotates queries and keys of each head by the angles
// position * theta_j, theta_j = base^(-2j / dims), j = 0 .. dims/2 - 1, so that q_m . k_n depends on m - n.
// Learnable frequencies are theta plus a trained offset that starts at zero; the layers of a stack share them.
// Token i has position i * step. For texts `factor` times as long as those of training:
//   linear (Chen et al. 2023)   positions / factor
//   ntk (bloc97 2023)           base * factor^(dims / (dims - 2)): the lowest frequency equals that of linear
//   yarn (Peng et al. 2023)     frequencies with more than 32 turns over the original length stay as they are, those
//                               with less than one turn are divided by the factor, with a ramp in between; rotated
//                               features are multiplied by 0.1 ln(factor) + 1
//   llama3 (Llama 3.1, 2024)    likewise, with the ramp over the turns, from low_freq_factor to high_freq_factor, and
//                               without a multiplier
#include "gyre/models/position/rope.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "gyre/models/position/distances.h"
#include "gyre/models/position/position.h"

namespace gyre {

void RopeOptions::declare(OptionList& list) {
  constexpr OnResume kOtherModel = OnResume::another_model;
  const auto only_with = [this](const std::vector<RopeScaling>& kinds) {
    return [this, kinds] {
      const bool is_read = std::ranges::find(kinds, scaling) != kinds.end();
      return is_read ? "" : concat("--rope-scaling is ", enum_name(scaling));
    };
  };
  using Scaling = RopeScaling;
  list.add(kOtherModel, "--rope-base", &base, "NUMBER", "base of the frequencies",
           {.also_called = {"rotary-base", "rope-theta"}});
  list.add(kOtherModel, "--rope-pairs", &pairs, "features of a head that are rotated together");
  list.add(kOtherModel, "--rotary-dims", &rotary_dims, "FEATURES", "rotated features of a head, from the first; 0: all",
           {.also_called = {"rotary-percent", "rotary-pct", "partial-rotary-factor", "rotary-percentage"}});
  list.group(kTrainedPositions);
  list.add(kOtherModel, "--rope-learnable", &learnable, "train the frequencies");
  list.add(kOtherModel, "--rope-rotate-values", &rotate_values,
           "rotate the values of self-attention too (RoFormer's rotary_value)");
  list.group(kCrossAttentionPositions);
  list.add(kOtherModel, "--rope-rotate-cross", &rotate_cross, "rotate queries and keys of cross-attention too");
  list.group("");
  list.add(kOtherModel, "--rope-step", &step, "NUMBER", "distance between neighboring tokens");
  list.add(kOtherModel, "--rope-scaling", &scaling, "change of the angles for texts longer than those of training");
  list.add(kOtherModel, "--rope-scaling-factor", &scaling_factor, "NUMBER",
           "the longer length divided by the length of training",
           {.unused = only_with({Scaling::linear, Scaling::ntk, Scaling::yarn, Scaling::llama3})});
  list.add(kOtherModel, "--rope-original-length", &original_length, "TOKENS", "length of training, for yarn and llama3",
           {.unused = only_with({Scaling::yarn, Scaling::llama3})});
  list.add(kOtherModel, "--rope-low-freq-factor", &low_freq_factor, "TURNS",
           "llama3: frequencies with fewer turns over the length of training are divided by the factor",
           {.unused = only_with({Scaling::llama3})});
  list.add(kOtherModel, "--rope-high-freq-factor", &high_freq_factor, "TURNS",
           "llama3: frequencies with more turns over the length of training stay as they are",
           {.unused = only_with({Scaling::llama3})});
}

namespace {

// The pair, as a real number, whose frequency makes this many turns over the original length.
double pair_of_turns(double turns, const RopeOptions& o, int64_t dims) {
  const double angle = double(o.original_length) / (turns * 2 * std::numbers::pi);
  return double(dims) * std::log(angle) / (2 * std::log(o.base));
}

// The shares of YaRN: 0 to 1 along a ramp over the pairs.
std::vector<double> yarn_shares(const RopeOptions& o, int64_t dims) {
  constexpr double kFast = 32, kSlow = 1;  // turns
  const double first = std::max(std::floor(pair_of_turns(kFast, o, dims)), 0.0);
  const double last = std::min(std::ceil(pair_of_turns(kSlow, o, dims)), double(dims - 1));
  const double width = first == last ? 0.001 : last - first;
  std::vector<double> shares;
  for (int64_t j = 0; j < dims / 2; ++j) shares.push_back(std::clamp((double(j) - first) / width, 0.0, 1.0));
  return shares;
}

// The shares of Llama 3.1: 1 to 0 over the turns of the pair.
std::vector<double> llama3_shares(const RopeOptions& o, int64_t dims) {
  std::vector<double> shares;
  for (int64_t j = 0; j < dims / 2; ++j) {
    const double theta = std::pow(o.base, -2.0 * double(j) / double(dims));
    const double turns = double(o.original_length) * theta / (2 * std::numbers::pi);
    shares.push_back(1 - std::clamp((turns - o.low_freq_factor) / (o.high_freq_factor - o.low_freq_factor), 0.0, 1.0));
  }
  return shares;
}

// The share of each pair's frequency that is divided by the factor.
std::vector<double> divided_shares(const RopeOptions& o, int64_t dims) {
  if (o.scaling == RopeScaling::yarn) return yarn_shares(o, dims);
  if (o.scaling == RopeScaling::llama3) return llama3_shares(o, dims);
  return std::vector<double>(size_t(dims / 2));
}

Tensor frequencies_of(const RopeOptions& o, int64_t dims) {
  Tensor frequencies = Tensor::empty({dims / 2}, DType::f64);
  const double grown = o.scaling == RopeScaling::ntk ? std::pow(o.scaling_factor, double(dims) / double(dims - 2)) : 1;
  const std::vector<double> shares = divided_shares(o, dims);
  for (int64_t j = 0; j < dims / 2; ++j) {
    const double theta = std::pow(o.base * grown, -2.0 * double(j) / double(dims)), share = shares[size_t(j)];
    frequencies.data<double>()[j] = theta * (share / o.scaling_factor + 1 - share);
  }
  return frequencies;
}

}  // namespace

Tensor rope_divisors(const RopeOptions& options, int64_t dims) {
  Tensor divisors = Tensor::empty({dims / 2});
  const std::vector<double> shares = divided_shares(options, dims);
  std::ranges::transform(shares, divisors.data<float>(),
                         [&](double share) { return float(1 / (share / options.scaling_factor + 1 - share)); });
  return divisors;
}

namespace {

int64_t rotary_dims(const PositionWidths& widths, const RopeOptions& o) {
  return o.rotary_dims == 0 ? widths.rotated : o.rotary_dims;
}

class RopeEncoding final : public PositionEncoding {
 public:
  static void check(const PositionWidths& widths, const RopeOptions& o) {
    const int64_t width = widths.rotated, dims = rotary_dims(widths, o);
    require(dims % 2 == 0, "[rope] rotary dims must be even, got ", dims);
    require(dims > 0 && dims <= width, "[rope] rotary dims must be between 2 and the width of a head, ", width,
            ", got ", dims);
    require(o.base > 0, "[rope] base must be positive, got ", o.base);
    require(o.step > 0 && std::isfinite(o.step), "[rope] step must be positive, got ", o.step);
    require(o.scaling_factor >= 1 && std::isfinite(o.scaling_factor), "[rope] scaling factor must be at least 1, got ",
            o.scaling_factor);
    require(o.scaling != RopeScaling::ntk || dims >= 4, "[rope] ntk scaling needs rotary dims of at least 4, got ",
            dims);
    const bool yarn = o.scaling == RopeScaling::yarn, llama3 = o.scaling == RopeScaling::llama3;
    require(!yarn || o.base > 1, "[rope] yarn scaling needs a base above 1, got ", o.base);
    require(!(yarn || llama3) || o.original_length >= 1, "[rope] original length must be at least 1, got ",
            o.original_length);
    require(!llama3 ||
                (o.low_freq_factor > 0 && o.low_freq_factor < o.high_freq_factor && std::isfinite(o.high_freq_factor)),
            "[rope] llama3 scaling needs 0 < low_freq_factor < high_freq_factor, got ", o.low_freq_factor, " and ",
            o.high_freq_factor);
  }
  RopeEncoding(const PositionContext& c, const RopeOptions& o) : rotates_values_(o.rotate_values) {
    const int64_t dims = rotary_dims(c.widths(), o);
    rotary_ = {.heads = int(c.heads),
               .dims = int(dims),
               .pairs = o.pairs,
               .magnitude = o.scaling == RopeScaling::yarn ? 0.1 * std::log(o.scaling_factor) + 1 : 1,
               .position_scale = o.step / (o.scaling == RopeScaling::linear ? o.scaling_factor : 1)};
    frequencies_ = ConstantTable(frequencies_of(o, dims));
    if (o.learnable)
      offsets_ = &c.parameters.add(c.name + ".frequency_offsets", {dims / 2}, Init::constant(0), /*decay=*/false);
  }

  Rope rotation(Tape& tape, DType dtype, int64_t positions) const override {
    const Device device = tape.kernels().device();
    if (offsets_) {
      const Var frequencies = add(tape.constant(frequencies_.as(dtype, device)), tape.parameter(*offsets_));
      return make_rope(frequencies, positions, rotary_);
    }
    const bool kept = angles_ && angles_.dtype() == dtype && angles_.device() == device;
    if (!kept || angles_.dim(0) < positions) {
      const auto rows = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(positions, 16))));
      angles_ = Tensor::empty({rows, 2 * rotary_.dims}, dtype, device);
      tape.kernels().rotary_angles(angles_, frequencies_.exact(), rotary_);
    }
    return {rotary_, angles_, {}};
  }

  bool rotates_values() const override { return rotates_values_; }
  bool is_relative() const override { return !rotates_values_; }  // the output is rotated by the key's position

 private:
  bool rotates_values_;
  RopeShape rotary_;
  ConstantTable frequencies_;
  Parameter* offsets_ = nullptr;
  mutable Tensor angles_;  // fixed frequencies: all layers and steps share them, and longer sentences extend them
};

}  // namespace

PositionEncodingType rope_encoding() { return position_encoding<RopeEncoding, RopeOptions>(); }

}  // namespace gyre
