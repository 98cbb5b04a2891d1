// state.json of a checkpoint directory: the facts of its maker, a CRC-32C of every tensor of its safetensors files, and
// one of itself. A flipped bit anywhere in the directory is found by verify_manifest().
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/safetensors.h"

namespace gyre {

struct TensorFile {
  std::string name;  // "model.safetensors"
  std::vector<TensorSource> tensors;
};

// Writes the files, reading each tensor once, then state.json with `facts` (an object) in front of the
// checksums.
void write_manifest(const Path& directory, const nlohmann::ordered_json& facts, const std::vector<TensorFile>& files);

// The whole of state.json; throws when it does not match its own checksum.
nlohmann::ordered_json read_manifest(const Path& directory);

// Reads every byte and throws at the first file or tensor that is missing, unexpected or not what was written.
void verify_manifest(const Path& directory);

}  // namespace gyre
