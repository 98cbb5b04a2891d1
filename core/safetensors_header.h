// The header of a safetensors file (safetensors.h), as a function of the file's bytes: these come from outside, so
// every rule of the format is checked before anything is believed. No rule lets a few bytes ask for much memory: what
// the header claims is compared with the size of the file, never allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

using SafetensorsMetadata = std::map<std::string, std::string>;

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes: the format's own limit
inline constexpr size_t kSafetensorsLengthBytes = 8;
inline constexpr std::string_view kSafetensorsMetadataKey = "__metadata__";

struct SafetensorsEntry {
  std::string name;
  std::string dtype;           // the format's own name: "F32", "BF16", "I64", ..
  std::vector<int64_t> shape;  // any rank
  uint64_t begin = 0, end = 0;
  std::string shape_text() const;  // "(3, 4)"
};

struct SafetensorsHeader {
  size_t data_begin = 0;  // where the tensors' bytes begin in the file
  SafetensorsMetadata metadata;
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes; names differ
};

// `file`: the whole file; `name` stands for it in errors, which name the tensor too.
SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& name);

}  // namespace gyre
