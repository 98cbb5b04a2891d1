// Parser for the header of a safetensors file (safetensors.h). The bytes are untrusted, so every rule of the format is
// checked. Sizes in the header are compared with the size of the file before anything is allocated, so that a small
// file cannot cause a large allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

using SafetensorsMetadata = std::map<std::string, std::string>;

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes, the limit of the format
inline constexpr size_t kSafetensorsLengthBytes = 8;            // size of the header's length field
inline constexpr std::string_view kSafetensorsMetadataKey = "__metadata__";

struct SafetensorsEntry {
  std::string name;
  std::string dtype;               // the name in the format: "F32", "BF16", "I64", ..
  std::vector<int64_t> shape;      // any number of axes
  uint64_t begin = 0, end = 0;     // range of the data, in bytes from the end of the header
  std::string shape_text() const;  // "(3, 4)"
};

struct SafetensorsHeader {
  size_t data_begin = 0;  // offset of the data in the file
  SafetensorsMetadata metadata;
  std::vector<SafetensorsEntry> entries;  // entries in the order of their data, with unique names
};

// Parses the header of `file`, the content of a whole file. Throws Error for any violation of the format; messages
// contain the file's `name` and the name of the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& name);

}  // namespace gyre
