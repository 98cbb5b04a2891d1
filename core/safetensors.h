// Safetensors (https://github.com/huggingface/safetensors): 8 bytes little-endian N, N bytes of UTF-8 JSON, then the
// tensors' bytes. The JSON maps a name to {"dtype", "shape", "data_offsets": [begin, end]}; "__metadata__" maps strings
// to strings. The offsets count from the end of the JSON and cover the rest of the file without hole or overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mapped_file.h"
#include "core/safetensors_header.h"
#include "core/tensor.h"

namespace gyre {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// The format's name of a dtype: "F32".
std::string_view safetensors_dtype(DType dtype);

// Atomic: the file exists whole or not at all. Names must differ. Hugging Face refuses files without "format".
void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors,
                       const SafetensorsMetadata& metadata = {{"format", "pt"}});

// A tensor that is read when it is written.
struct TensorSource {
  std::string name;
  DType dtype;
  Shape shape;
  std::function<Tensor()> read;
};
TensorSource source_of(const NamedTensor& tensor);
// The same, one tensor after the other; `written` sees each of them, on the CPU.
void write_safetensors(const Path& path, std::vector<TensorSource> tensors, const SafetensorsMetadata& metadata,
                       const std::function<void(const std::string& name, const Tensor&)>& written);

// A file that is mapped and checked against every rule of the format; each error names the path and the tensor.
class SafetensorsFile {
 public:
  using Entry = SafetensorsEntry;

  explicit SafetensorsFile(const Path& path);

  const Path& path() const { return path_; }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }
  const std::vector<Entry>& entries() const { return header_.entries; }  // in the order of their bytes
  const Entry* find(std::string_view name) const;

  std::span<const std::byte> bytes(const Entry& entry) const;
  // Fills `out`, on any device, whose shape must be the entry's. Its dtype is the one asked for: element_conversion.h
  // says what becomes what.
  void read(const Entry& entry, const Tensor& out) const;
  // A new tensor of the file's dtype: F32, F64, BF16 or I32, at most four axes.
  Tensor read(const Entry& entry) const;
  static bool same_shape(const Entry& entry, const Shape& shape);

 private:
  std::string context_of(const Entry& entry) const;

  Path path_;
  MappedFile file_;
  SafetensorsHeader header_;
  std::map<std::string, size_t, std::less<>> index_;
};

// What a tensor of a file is called among the targets; empty: it is not wanted.
using TargetName = std::function<std::string(const std::string& name)>;

// What to do with a tensor of a file.
struct WantedTensor {
  std::string name;
  Shape shape;
  std::function<void(const SafetensorsFile&, const SafetensorsEntry&)> take;
};
// Takes tensors from files that together hold exactly these names and shapes, but for what `target_name` says. Names
// every missing, unexpected and mis-shaped tensor before anything is taken.
void take_tensors(
    std::span<const SafetensorsFile> files, const std::vector<WantedTensor>& wanted,
    const TargetName& target_name = [](const std::string& name) { return name; });
// The same, filling tensors.
void read_safetensors(
    std::span<const SafetensorsFile> files, const std::vector<NamedTensor>& targets,
    const TargetName& target_name = [](const std::string& name) { return name; });
inline void read_safetensors(const SafetensorsFile& file, const std::vector<NamedTensor>& targets) {
  read_safetensors(std::span(&file, 1), targets);
}

}  // namespace gyre
