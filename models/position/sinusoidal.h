// The option and the table of sinusoidal positions (sinusoidal.cpp), which other formats of models read too.
#pragma once

#include "gyre/models/position/position.h"

namespace gyre {

enum class SinusoidLayout : uint8_t { half_split, interleaved, transformers };

template <>
inline constexpr std::pair<SinusoidLayout, std::string_view> kEnumNames<SinusoidLayout>[] = {
    {SinusoidLayout::half_split, "half-split"},
    {SinusoidLayout::interleaved, "interleaved"},
    {SinusoidLayout::transformers, "transformers"}};

struct SinusoidalOptions {
  SinusoidLayout layout = SinusoidLayout::half_split;

  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--sinusoid-layout", &layout,
             "order of the features: all sines then all cosines, in alternation, or all sines then all cosines with "
             "the frequencies of transformers' MarianMTModel");
  }
};

// The encodings of the positions 0, 1, .. as rows, (positions, dim), f64. dim is even, and at least 4 for half_split.
Tensor sinusoid_table(SinusoidLayout layout, int64_t positions, int64_t dim);

}  // namespace gyre
