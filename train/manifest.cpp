#include "train/manifest.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/safetensors_writer.h"

namespace gyre {

namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string hex(uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

// Type and shape are part of it: they lie in the file's header, which has no checksum of its own.
std::string tensor_checksum(std::string_view dtype, const std::string& shape, std::span<const std::byte> bytes) {
  const std::string description = concat(dtype, shape);
  return hex(crc32c(bytes.data(), bytes.size(), crc32c(description.data(), description.size())));
}

std::string text_checksum(const ordered_json& state) {
  const std::string text = state.dump();
  return hex(crc32c(text.data(), text.size()));
}

void verify_file(const Path& path, const ordered_json& checksums) {
  const SafetensorsFile file(path);
  for (const auto& [name, expected] : checksums.items()) {
    require(file.find(name) != nullptr, "[checkpoint] ", path.string(), ": tensor ", name, " is missing");
  }
  for (const auto& entry : file.entries()) {
    const auto expected = checksums.find(entry.name);
    require(expected != checksums.end(), "[checkpoint] ", path.string(), ": unexpected tensor ", entry.name);
    const std::string got = tensor_checksum(entry.dtype, entry.shape_text(), file.bytes(entry));
    require(*expected == got, "[checkpoint] ", path.string(), ": tensor ", entry.name, ": expected checksum ",
            expected->get<std::string>(), ", got ", got);
  }
}

// Returns their checksums.
ordered_json write_tensors(const Path& path, std::vector<TensorSource> tensors) {
  // Wide types first, so that every tensor is aligned to its type.
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorSource& a, const TensorSource& b) {
    return dtype_bytes(a.dtype) > dtype_bytes(b.dtype);
  });
  std::vector<PlannedTensor> plan;
  for (const TensorSource& t : tensors) plan.push_back({t.name, t.dtype, t.shape});
  SafetensorsWriter writer(path, std::move(plan), {{"format", "pt"}});
  ordered_json checksums = ordered_json::object();
  for (const TensorSource& t : tensors) {
    const Tensor host = t.read().to_cpu();
    writer.write(host);
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(host.raw()), host.bytes());
    checksums[t.name] = tensor_checksum(safetensors_dtype(host.dtype()), host.shape().text(), bytes);
  }
  writer.commit();
  return checksums;
}

}  // namespace

TensorSource source_of(const NamedTensor& t) {
  return {t.name, t.tensor.dtype(), t.tensor.shape(), [tensor = t.tensor] { return tensor; }};
}

void write_manifest(const Path& directory, const ordered_json& facts, const std::vector<TensorFile>& files) {
  ordered_json state{{"format", kFormat}};
  state.update(facts);
  for (const TensorFile& file : files) state["tensors"][file.name] = write_tensors(directory / file.name, file.tensors);
  state["checksum"] = text_checksum(state);
  write_file(directory / "state.json", state.dump(1) + "\n");
}

ordered_json read_manifest(const Path& directory) {
  const Path path = directory / "state.json";
  const std::string text = read_file(path);
  try {
    ordered_json state = ordered_json::parse(text);
    const auto expected = state.at("checksum").get<std::string>();
    state.erase("checksum");
    const std::string got = text_checksum(state);
    require(expected == got, "[checkpoint] ", path.string(), ": expected checksum ", expected, ", got ", got);
    require(state.at("format") == kFormat, "[checkpoint] ", path.string(), ": expected format ", kFormat, ", got ",
            state["format"].dump());
    return state;
  } catch (const nlohmann::json::exception& error) {
    throw Error("[checkpoint] ", path.string(), ": ", error.what());
  }
}

void verify_manifest(const Path& directory) {
  const ordered_json state = read_manifest(directory);
  try {
    for (const auto& [name, checksums] : state.at("tensors").items()) verify_file(directory / name, checksums);
  } catch (const nlohmann::json::exception& error) {
    throw Error("[checkpoint] ", (directory / "state.json").string(), ": ", error.what());
  }
}

}  // namespace gyre
