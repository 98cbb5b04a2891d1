// Safetensors (https://github.com/huggingface/safetensors): 8 bytes little-endian N, N bytes of UTF-8 JSON, then the
// tensors' bytes. The JSON maps a name to {"dtype", "shape", "data_offsets": [begin, end]}; "__metadata__" maps strings
// to strings. The offsets count from the end of the JSON and cover the rest of the file without hole or overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/tensor.h"

namespace gyre {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// The format's name of a dtype: "F32".
std::string_view safetensors_dtype(DType dtype);

using SafetensorsMetadata = std::map<std::string, std::string>;

// Atomic: the file exists whole or not at all. Names must differ. Hugging Face refuses files without "format".
void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors,
                       const SafetensorsMetadata& metadata = {{"format", "pt"}});

// A file that is mapped and checked against every rule of the format; each error names the path and the tensor.
class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    std::string dtype;           // the format's own name: "F32", "BF16", "I64", ..
    std::vector<int64_t> shape;  // any rank
    uint64_t begin = 0, end = 0;
    std::string shape_text() const;  // "(3, 4)"
  };

  explicit SafetensorsFile(const Path& path);

  const Path& path() const { return path_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of their bytes
  const Entry* find(std::string_view name) const;

  std::span<const std::byte> bytes(const Entry& entry) const;
  // Fills `out` (f32 or f64; the file may hold either; or the same dtype), on any device, whose shape must be the
  // entry's.
  void read(const Entry& entry, const Tensor& out) const;
  // A new tensor of the file's dtype: F32, F64, BF16 or I32, at most four axes.
  Tensor read(const Entry& entry) const;
  static bool same_shape(const Entry& entry, const Tensor& tensor);

 private:
  void parse_header(std::string_view text);
  void check_layout(uint64_t buffer_bytes);

  Path path_;
  MappedFile file_;
  size_t data_begin_ = 0;
  SafetensorsMetadata metadata_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
};

// Fills the targets from a file that holds exactly these names and shapes. Names every missing, unexpected and
// mis-shaped tensor before anything is written.
void read_safetensors(const SafetensorsFile& file, const std::vector<NamedTensor>& targets);

}  // namespace gyre
