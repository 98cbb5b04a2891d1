// Sharded safetensors checkpoints in the format of Hugging Face: files model-00001-of-0000k.safetensors and an index,
// model.safetensors.index.json: {"metadata": {"total_size": ..}, "weight_map": {tensor name: file name}}.
#pragma once

#include <optional>
#include <vector>

#include "gyre/core/io/safetensors.h"

namespace gyre {

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

}  // namespace gyre
