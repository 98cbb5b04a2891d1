#include "gyre/train/checkpoint/manifest.h"

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

namespace {

constexpr int kFormat = 1;

std::string hex(uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

// Includes dtype and shape, because the file's header, which stores them, has no checksum.
std::string tensor_checksum(std::string_view dtype, const std::string& shape, std::span<const std::byte> bytes) {
  const std::string description = concat(dtype, shape);
  return hex(crc32c(bytes.data(), bytes.size(), crc32c(description.data(), description.size())));
}

std::string text_checksum(const Json& state) {
  const std::string text = json_text(state);
  return hex(crc32c(text.data(), text.size()));
}

void verify_file(const Path& path, const Json& checksums) {
  const SafetensorsFile file(path);
  require(checksums.is_object(), "[checkpoint] ", path.string(), ": expected checksums of tensors, found none");
  for (const auto& [name, expected] : checksums.items()) {
    require(file.find(name) != nullptr, "[checkpoint] ", path.string(), ": tensor ", name, " is missing");
  }
  for (const auto& entry : file.entries()) {
    const auto expected = checksums.find(entry.name);
    require(expected != checksums.end(), "[checkpoint] ", path.string(), ": unexpected tensor ", entry.name);
    const std::string got = tensor_checksum(entry.dtype, entry.shape_text(), file.bytes(entry));
    require(*expected == got, "[checkpoint] ", path.string(), ": tensor ", entry.name, ": expected checksum ",
            expected->dump(), ", got \"", got, '"');
  }
}

// Checksums by file and tensor.
Json checksums_of_files(const Path& directory) {
  const Json state = read_manifest(directory);
  const auto files = state.find("tensors");
  require(files != state.end() && files->is_object(), "[checkpoint] ", state_path(directory).string(),
          ": not what Gyre writes: it has no tensors");
  return *files;
}

// Returns the checksums of the tensors.
Json write_tensors(const Path& path, const std::vector<TensorSource>& tensors) {
  Json checksums = Json::object();
  write_safetensors(path, tensors, {{"format", "pt"}}, [&](const std::string& name, const Tensor& t) {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(t.raw()), t.bytes());
    checksums[name] = tensor_checksum(safetensors_dtype(t.dtype()), to_string(t.shape()), bytes);
  });
  return checksums;
}

}  // namespace

void write_manifest(const Path& directory, const Json& summary, const std::vector<TensorFile>& files) {
  Json state{{"format", kFormat}};
  state.update(summary);
  for (const TensorFile& file : files) state["tensors"][file.name] = write_tensors(directory / file.name, file.tensors);
  state["checksum"] = text_checksum(state);
  write_file(state_path(directory), json_text(state, 1) + "\n");
}

Json read_manifest(const Path& directory) {
  const Path path = state_path(directory);
  const std::string text = read_file(path);
  try {
    Json state = parse_ordered_json(text, kMaxJsonDepth, concat("[checkpoint] ", path.string(), ": "), "the file");
    const auto expected = state.at("checksum").get<std::string>();
    state.erase("checksum");
    const std::string got = text_checksum(state);
    require(expected == got, "[checkpoint] ", path.string(), ": expected checksum ", expected, ", got ", got);
    require(state.at("format") == kFormat, "[checkpoint] ", path.string(), ": expected format ", kFormat, ", got ",
            state["format"].dump());
    return state;
  } catch (const nlohmann::json::exception& error) {
    throw Error("[checkpoint] ", path.string(), ": not what Gyre writes: ", json_reason(error));
  }
}

void verify_manifest(const Path& directory) {
  const Json files = checksums_of_files(directory);
  for (const auto& [name, checksums] : files.items()) verify_file(directory / name, checksums);
}

void verify_tensors(const Path& file) {
  const Json checksums = checksums_of_files(file.parent_path());
  const std::string name = file.filename().string();
  require(checksums.contains(name), "[checkpoint] ", state_path(file.parent_path()).string(),
          ": expected checksums of ", name, ", found none");
  verify_file(file, checksums[name]);
}

}  // namespace gyre
