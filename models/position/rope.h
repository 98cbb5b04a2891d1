// The options of rotary position embedding. Tools and other formats of models read them too.
#pragma once

#include "gyre/core/kernels/arguments.h"
#include "gyre/models/position/position.h"

namespace gyre {

// Scaling of the angles for texts longer than those of training.
enum class RopeScaling : uint8_t { none, linear, ntk, yarn, llama3 };

template <>
inline constexpr std::pair<RotaryPairs, std::string_view> kEnumNames<RotaryPairs>[] = {
    {RotaryPairs::interleaved, "interleaved"}, {RotaryPairs::half_split, "half-split"}};
template <>
inline constexpr std::pair<RopeScaling, std::string_view> kEnumNames<RopeScaling>[] = {{RopeScaling::none, "none"},
                                                                                       {RopeScaling::linear, "linear"},
                                                                                       {RopeScaling::ntk, "ntk"},
                                                                                       {RopeScaling::yarn, "yarn"},
                                                                                       {RopeScaling::llama3, "llama3"}};

struct RopeOptions {
  double base = 10000;
  RotaryPairs pairs = RotaryPairs::interleaved;
  int64_t rotary_dims = 0;     // rotated features per head, from the first; 0: all
  bool learnable = false;      // train the frequencies
  bool rotate_values = false;  // whether the values of self-attention are rotated too
  bool rotate_cross = false;   // whether queries and keys of cross-attention are rotated too
  double step = 1;             // token i has position i * step, which need not be whole
  RopeScaling scaling = RopeScaling::none;
  double scaling_factor = 1;      // the longer length divided by the length of training
  int64_t original_length = 512;  // the length of training, for YaRN and Llama 3.1
  double low_freq_factor = 1;     // Llama 3.1: frequencies with fewer turns over the original length are divided,
  double high_freq_factor = 4;    // frequencies with more turns than this are not changed

  void declare(OptionList& list);
};

// The numbers by which the scaling divides the frequencies, (dims / 2), f32. All are 1 but for yarn and llama3.
Tensor rope_divisors(const RopeOptions& options, int64_t dims);

}  // namespace gyre
