// Conversion of the elements of a safetensors file to the dtype of a tensor.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "gyre/core/tensor.h"

namespace gyre {

// Converts the elements of `source` to the dtype of `out`, a tensor on the CPU.
//   F16, BF16, F32, F64                              -> f32, f64, bf16; rounded to nearest if `out` has fewer bits
//   BOOL, U8, I8, U16, I16, U32, I32, U64, I64       -> i32; throws Error if a value is out of range
// All other conversions throw Error, so that integers never become floats, or floats integers, silently. `file_dtype`
// is the name that the format uses. `source` has as many elements as `out`, little-endian, at any alignment. Messages
// begin with `context`.
void convert_elements(std::string_view file_dtype, std::span<const std::byte> source, const Tensor& out,
                      const std::string& context);

}  // namespace gyre
