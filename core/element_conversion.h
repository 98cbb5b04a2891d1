// Elements as a safetensors file holds them into a tensor of another dtype.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace gyre {

// `file_dtype`: the format's name; `source`: as many elements as `out` has, little-endian, at any alignment; `out`: on
// the CPU.
//   F16, BF16, F32, F64                              -> f32, f64, bf16, rounded to nearest where it has fewer bits
//   BOOL, U8, I8, U16, I16, U32, I32, U64, I64       -> i32; a value outside of its range is an Error
// Anything else is an Error that begins with `context`: numbers never change between integers and floats in silence.
void convert_elements(std::string_view file_dtype, std::span<const std::byte> source, const Tensor& out,
                      const std::string& context);

}  // namespace gyre
