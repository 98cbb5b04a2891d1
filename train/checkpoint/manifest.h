// state.json of a checkpoint directory: a summary given by the caller, the CRC-32C of every tensor in the directory's
// safetensors files, and the CRC-32C of state.json. verify_manifest() detects a flipped bit anywhere in the directory.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"

namespace gyre {

struct TensorFile {
  std::string name;  // "model.safetensors"
  std::vector<TensorSource> tensors;
};

// Writes the files, reading each tensor once, then state.json with `summary` (an object) before the checksums.
void write_manifest(const Path& directory, const Json& summary, const std::vector<TensorFile>& files);

// Reads state.json. Throws if it does not match its checksum.
Json read_manifest(const Path& directory);

// Reads every byte. Throws at the first file or tensor that is missing, is unexpected or fails its checksum.
void verify_manifest(const Path& directory);
// The same for one safetensors file of a checkpoint directory.
void verify_tensors(const Path& file);

}  // namespace gyre
