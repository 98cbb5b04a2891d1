#include "gyre/train/checkpoint/lora_record.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/models/hugging_face/tensor_checks.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

namespace fs = std::filesystem;

namespace {

Path normal_path(const Path& path) { return fs::absolute(path).lexically_normal(); }

}  // namespace

Json LoraRecord::to_json(const Path& run) const {
  return {{"rank", options.rank},
          {"alpha", options.alpha},
          {"rank_stabilized", options.rank_stabilized},
          {"dropout", options.dropout},
          {"targets", options.targets},
          {"base",
           {{"weights", normal_path(base).string()},
            {"from_run", normal_path(base).lexically_relative(normal_path(run)).string()},
            {"digest", digest}}}};
}

std::optional<LoraRecord> find_lora_record(const Path& run) {
  const Path file = lora_path(run);
  if (!fs::exists(file)) return std::nullopt;
  const Json json = parse_ordered_json(read_file(file), kMaxJsonDepth, file.string() + ": ", "the file");
  try {
    LoraRecord record;
    LoraOptions& o = record.options;
    json.at("rank").get_to(o.rank);
    json.at("alpha").get_to(o.alpha);
    json.at("rank_stabilized").get_to(o.rank_stabilized);
    json.at("dropout").get_to(o.dropout);
    json.at("targets").get_to(o.targets);
    OptionList::of(o).check();
    const Json& base = json.at("base");
    const Path named = base.at("weights").get<std::string>();
    const Path beside = (run / base.at("from_run").get<std::string>()).lexically_normal();
    record.base = fs::exists(named) || !fs::exists(beside) ? named : beside;
    base.at("digest").get_to(record.digest);
    return record;
  } catch (const std::exception& error) {
    throw Error(file.string(), ": expected adapters as gyre train writes them: ", json_reason(error));
  }
}

std::string weights_digest(const Parameters& parameters) {
  uint64_t digest = 0;
  for (const Parameter& p : parameters) {
    const Tensor value = p.value.to_cpu();
    digest = mix(mix(digest, hash_name(p.name)), crc32c(value.raw(), value.bytes()));
  }
  return hexadecimal(digest);
}

void load_base(const LoraRecord& record, const Path& run, Parameters& base) {
  const std::string name = lora_path(run).string();
  require(fs::exists(record.base), name, ": the base of the adapters, ", record.base.string(),
          ", does not exist: move it back, or write its new place there");
  load_model_weights(record.base, base);
  const std::string digest = weights_digest(base);
  require(digest == record.digest, name, ": the adapters belong to a base with the digest ", record.digest, ", but ",
          record.base.string(), " has ", digest);
}

void read_adapters(const Path& checkpoint_file, Parameters& base, LoraAdapters& adapters) {
  const std::vector<SafetensorsFile> files = open_safetensors(checkpoint_file);
  for (const LinearModule& module : linear_modules(base))
    if (find_tensor(files, module.name + ".lora_A.weight")) adapters.add(module);
  adapters.parameters().allocate_zeros();
  std::vector<NamedTensor> targets;
  for (const Parameter& p : adapters.parameters()) targets.push_back({p.name, p.value});
  read_safetensors(files, targets);
}

}  // namespace gyre
