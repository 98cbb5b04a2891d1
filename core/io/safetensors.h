// Reading and writing of safetensors files (https://github.com/huggingface/safetensors). The format: N as 8 bytes,
// little-endian; N bytes of UTF-8 JSON; the data of the tensors. The JSON maps each tensor's name to {"dtype", "shape",
// "data_offsets": [begin, end]}, and "__metadata__" to an object of strings. Offsets are relative to the end of the
// JSON and cover the rest of the file without gaps or overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/mapped_file.h"
#include "gyre/core/io/safetensors_header.h"
#include "gyre/core/tensor.h"

namespace gyre {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// The name of a dtype in the format: "F32".
std::string_view safetensors_dtype(DType dtype);

// Writes a file atomically. The names must be unique. Hugging Face libraries reject files without "format" metadata.
void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors,
                       const SafetensorsMetadata& metadata = {{"format", "pt"}});

// A tensor whose data is produced by read() only when it is written.
struct TensorSource {
  std::string name;
  DType dtype;
  Shape shape;
  std::function<Tensor()> read;
};
TensorSource source_of(const NamedTensor& tensor);
// Writes a file atomically, holding only one tensor on the CPU at a time. Calls `written` with each tensor, on the CPU,
// after it is written.
void write_safetensors(const Path& path, std::vector<TensorSource> tensors, const SafetensorsMetadata& metadata,
                       const std::function<void(const std::string& name, const Tensor&)>& written);

// A memory-mapped safetensors file. The constructor checks every rule of the format. Errors name the path and the
// tensor.
class SafetensorsFile {
 public:
  using Entry = SafetensorsEntry;

  explicit SafetensorsFile(const Path& path);

  const Path& path() const { return path_; }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }
  const std::vector<Entry>& entries() const { return header_.entries; }  // entries in the order of their data
  const Entry* find(std::string_view name) const;                        // null if there is no such tensor

  std::span<const std::byte> bytes(const Entry& entry) const;
  // Reads into `out`, on any device, converting to its dtype (element_conversion.h). Throws Error if the shapes differ
  // or the conversion is not supported.
  void read(const Entry& entry, const Tensor& out) const;
  // Reads into a new tensor of the file's dtype. Throws Error unless it is F32, F64, BF16 or I32 with at most four
  // axes.
  Tensor read(const Entry& entry) const;
  static bool same_shape(const Entry& entry, const Shape& shape);

  // Leaves out the tensors of other names, whose names left_out() then returns.
  void keep_only(const std::set<std::string>& names);
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::string context_of(const Entry& entry) const;

  Path path_;
  MappedFile file_;
  SafetensorsHeader header_;
  std::map<std::string, size_t, std::less<>> index_;
  std::vector<std::string> left_out_;
};

// Maps the name of a tensor in a file to the name of the requested tensor. An empty result skips the tensor.
using TargetName = std::function<std::string(const std::string& name)>;

// A tensor that a file must contain, and the function that reads it.
struct TensorRequest {
  std::string name;
  Shape shape;
  std::function<void(const SafetensorsFile&, const SafetensorsEntry&)> read;
};
// Reads the requested tensors from files that together contain exactly these names and shapes, after `target_name`.
// Before anything is read, throws an Error for missing, duplicate, unexpected or wrongly shaped tensors, of ten lines
// at most: the likely cause, the first of the tensors, and the number of the others.
void load_tensors(
    std::span<const SafetensorsFile> files, const std::vector<TensorRequest>& requests,
    const TargetName& target_name = [](const std::string& name) { return name; });
// Like load_tensors(), but reads into the tensors of `targets`.
void read_safetensors(
    std::span<const SafetensorsFile> files, const std::vector<NamedTensor>& targets,
    const TargetName& target_name = [](const std::string& name) { return name; });
inline void read_safetensors(const SafetensorsFile& file, const std::vector<NamedTensor>& targets) {
  read_safetensors(std::span(&file, 1), targets);
}

}  // namespace gyre
