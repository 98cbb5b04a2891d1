#include "gyre/core/io/safetensors_writer.h"

#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"

namespace gyre {

namespace {

// The length field and the JSON. The JSON is padded with spaces, so that the first tensor is aligned.
std::string header_of(const std::vector<PlannedTensor>& plan, const SafetensorsMetadata& metadata, const Path& path) {
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(kSafetensorsMetadataKey)] = metadata;
  std::set<std::string_view> names{kSafetensorsMetadataKey};
  uint64_t offset = 0;
  for (const auto& [name, dtype, shape] : plan) {
    require(names.insert(name).second, "[safetensors] ", path.string(), ": duplicate tensor name '", name, "'");
    std::vector<int64_t> dims;
    for (int axis = 0; axis < shape.rank(); ++axis) dims.push_back(shape[axis]);
    const uint64_t bytes = uint64_t(shape.elements()) * dtype_bytes(dtype);
    // The entry is appended, because header[name] would search all names.
    header.get_ref<Json::object_t&>().emplace_back(
        name, Json{{"dtype", safetensors_dtype(dtype)}, {"shape", dims}, {"data_offsets", {offset, offset + bytes}}});
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  require(length <= kMaxSafetensorsHeader, "[safetensors] ", path.string(), ": the header would have ", length,
          " bytes, the limit is ", kMaxSafetensorsHeader);
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const Path& path, std::vector<PlannedTensor> plan,
                                     const SafetensorsMetadata& metadata)
    : path_(path), plan_(std::move(plan)), file_(path) {
  file_.write(header_of(plan_, metadata, path));
}

void SafetensorsWriter::write(const Tensor& tensor) {
  require(written_ < plan_.size(), "[safetensors] ", path_.string(), ": expected at most ", written_, " tensors");
  const auto& [name, dtype, shape] = plan_[written_];
  require(tensor.dtype() == dtype && tensor.shape() == shape, "[safetensors] ", path_.string(), ": tensor ", name,
          ": expected ", dtype, " ", shape, ", got ", tensor.dtype(), " ", tensor.shape());
  ++written_;
  file_.write(tensor.to_cpu().raw(), tensor.bytes());
}

void SafetensorsWriter::commit() {
  require(written_ == plan_.size(), "[safetensors] ", path_.string(), ": expected ", plan_.size(), " tensors, got ",
          written_);
  file_.commit();
}

}  // namespace gyre
