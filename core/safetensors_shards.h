// A model in several safetensors files, as Hugging Face writes it: model-00001-of-0000k.safetensors and an index,
// model.safetensors.index.json: {"metadata": {"total_size": ..}, "weight_map": {tensor: the file that holds it}}.
#pragma once

#include <vector>

#include "core/safetensors.h"

namespace gyre {

// What a path to a model stands for: the shards that an index (a name that ends in ".json") lists, in the order of
// their names, or the one safetensors file. Every shard is opened and checked. An Error names what is wrong with the
// index, the shard that is missing, the tensor that its shard lacks, and the tensor that a shard holds beside those the
// index gives it. Shards lie beside their index: a name that leads elsewhere is refused. "metadata" is not read: sizes
// are the shards' own.
std::vector<SafetensorsFile> open_safetensors(const Path& path);

}  // namespace gyre
