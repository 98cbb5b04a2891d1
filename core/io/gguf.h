// Writing of GGUF, the file format of llama.cpp (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), version 3,
// little-endian:
//
//   "GGUF", version, number of tensors, number of keys
//   keys: name, type, value
//   tensors: name, number of axes, sizes from the last axis to the first, type, offset of the data
//   data of the tensors, each at a multiple of 32 bytes
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Types of elements, with their numbers in the format. q8_0: integers of -127 to 127 in blocks of 32 along the last
// axis with a scale each, an f16.
enum class GgufType : uint32_t { f32 = 0, f16 = 1, q8_0 = 8, bf16 = 30 };

template <>
inline constexpr std::pair<GgufType, std::string_view> kEnumNames<GgufType>[] = {
    {GgufType::f32, "f32"}, {GgufType::f16, "f16"}, {GgufType::bf16, "bf16"}, {GgufType::q8_0, "q8_0"}};

inline constexpr int64_t kGgufBlock = 32;  // elements of a block of q8_0

using GgufValue = std::variant<bool, uint32_t, float, std::string, std::vector<uint8_t>, std::vector<int32_t>,
                               std::vector<float>, std::vector<std::string>>;
struct GgufKey {
  std::string name;
  GgufValue value;
};

struct GgufTensor {
  std::string name;
  Tensor values;  // f32, on any device
  GgufType type;  // the type in the file
};

// The elements of a tensor in the file, rounded as llama.cpp's package gguf does: to nearest, in q8_0 halves away from
// zero. Throws an Error that names the tensor for q8_0 with rows that do not consist of blocks, and for numbers that
// the type cannot hold, such as infinite ones.
std::string gguf_data(const GgufTensor& tensor);

// Writes a file atomically, one tensor at a time.
void write_gguf(const Path& path, const std::vector<GgufKey>& keys, const std::vector<GgufTensor>& tensors);

}  // namespace gyre
