#include "gyre/core/io/safetensors_shards.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {

namespace {

using TensorsOfShards = std::map<std::string, std::set<std::string>>;

TensorsOfShards parse_weight_map(const Path& index) {
  const std::string context = concat("[safetensors] ", index.string(), ": ");
  constexpr int kDeepest = 3;  // nesting depth: the index, its metadata, one more level
  const nlohmann::json parsed = parse_strict_json(read_file(index), kDeepest, context, "the index");
  require(parsed.is_object() && parsed.contains("weight_map") && parsed["weight_map"].is_object(), context,
          "expected an object with \"weight_map\", an object");
  TensorsOfShards shards;
  for (const auto& [tensor, shard] : parsed["weight_map"].items()) {
    const std::string where = concat(context, "tensor ", quoted_for_message(tensor), ": ");
    require(shard.is_string(), where, "expected the name of a file");
    const auto name = shard.get<std::string>();
    const bool beside =
        !name.empty() && name != "." && name != ".." && name.find_first_of(std::string("/\0", 2)) == name.npos;
    if (!beside)
      throw Error(where, "expected the name of a file in the directory of the index, got ", quoted_for_message(name));
    shards[name].insert(tensor);
  }
  require(!shards.empty(), context, "\"weight_map\" lists no tensor");
  return shards;
}

void keep_listed(SafetensorsFile& shard, const std::set<std::string>& tensors, const Path& index) {
  for (const std::string& tensor : tensors) {
    if (shard.find(tensor) == nullptr) {
      throw Error("[safetensors] ", shard.path().string(), ": tensor ", quoted_for_message(tensor), " is missing, but ",
                  index.string(), " lists it");
    }
  }
  shard.keep_only(tensors);
}

}  // namespace

std::optional<Path> find_safetensors(const Path& directory) {
  for (const char* name : {kModelFile, kShardIndex}) {
    if (std::filesystem::exists(directory / name)) return directory / name;
  }
  return std::nullopt;
}

std::vector<SafetensorsFile> open_safetensors(const Path& path) {
  std::vector<SafetensorsFile> files;
  if (path.extension() != ".json") {
    files.emplace_back(path);
    return files;
  }
  for (const auto& [name, tensors] : parse_weight_map(path)) {
    const Path shard = path.parent_path() / name;
    require(std::filesystem::exists(shard), "[safetensors] ", path.string(), ": shard ", quoted_for_message(name),
            " is missing");
    keep_listed(files.emplace_back(shard), tensors, path);
  }
  return files;
}

}  // namespace gyre
