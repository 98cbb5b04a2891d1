// Reading and writing of safetensors files (https://github.com/huggingface/safetensors), whole, one tensor at a time,
// and in shards. The format: N as 8 bytes, little-endian; N bytes of UTF-8 JSON; the data of the tensors. The JSON maps
// each tensor's name to {"dtype", "shape", "data_offsets": [begin, end]}, and "__metadata__" to an object of strings.
// Offsets are relative to the end of the JSON and cover the rest of the file without gaps or overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/tensor.h"

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

// Parses the header of `file`, the content of a whole file. The bytes are untrusted, so every rule of the format is
// checked. Sizes in the header are compared with the size of the file before anything is allocated, so that a small
// file cannot cause a large allocation. Throws Error for any violation of the format; messages contain the file's
// `name` and the name of the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& name);

// Writes a safetensors file one tensor at a time, for models that should not be in memory as a whole.
// Name, dtype and shape of a tensor that will be written.
struct PlannedTensor {
  std::string name;
  DType dtype;
  Shape shape;
};

class SafetensorsWriter {
 public:
  // `plan` lists the tensors in the order of their data. A tensor is aligned to its type if no narrower type precedes
  // it. Throws Error if names are not unique.
  SafetensorsWriter(const Path& path, std::vector<PlannedTensor> plan, const SafetensorsMetadata& metadata);

  // Writes the next tensor of the plan, from any device. Throws Error if dtype or shape differ from the plan.
  void write(const Tensor& tensor);
  // Moves the file to its final name. Throws Error unless every tensor of the plan was written.
  void commit();

 private:
  Path path_;
  std::vector<PlannedTensor> plan_;
  size_t written_ = 0;  // tensors
  AtomicFile file_;
};

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
  // Reads into `out`, on any device, converting to its dtype (convert_elements). Throws Error if the shapes differ
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

// ---- Sharded checkpoints -------------------------------------------------------------------------------------------
// Sharded safetensors checkpoints in the format of Hugging Face: files model-00001-of-0000k.safetensors and an index,
// model.safetensors.index.json: {"metadata": {"total_size": ..}, "weight_map": {tensor name: file name}}.

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kShardIndex = "model.safetensors.index.json";

// Returns the path of model.safetensors in the directory, or of its index of shards, or nullopt if it has neither.
std::optional<Path> find_safetensors(const Path& directory);

// Opens and checks all files of a model. `path` is an index (a name that ends in ".json") or a single safetensors file.
// Returns the shards of an index in the order of their names. Throws Error for an invalid index, a missing shard, and a
// tensor missing from its shard. Leaves out tensors that the index does not list for their shard, as transformers does.
// Shards must be in the directory of the index; names with other directories are rejected. "metadata" is ignored,
// because the shards themselves contain the sizes.
std::vector<SafetensorsFile> open_safetensors(const Path& path);

// Converts the elements of `source` to the dtype of `out`, a tensor on the CPU.
//   F16, BF16, F32, F64                              -> f32, f64, bf16; rounded to nearest if `out` has fewer bits
//   BOOL, U8, I8, U16, I16, U32, I32, U64, I64       -> i32; throws Error if a value is out of range
// All other conversions throw Error, so that integers never become floats, or floats integers, silently. `file_dtype`
// is the name that the format uses. `source` has as many elements as `out`, little-endian, at any alignment. Messages
// begin with `context`.
void convert_elements(std::string_view file_dtype, std::span<const std::byte> source, const Tensor& out,
                      const std::string& context);

}  // namespace gyre
