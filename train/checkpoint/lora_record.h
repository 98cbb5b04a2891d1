// lora.json of a run with adapters (models/modules/lora.h): their options and the base that they belong to. The
// checkpoints of such a run hold the adapters alone.
//   {"rank": 8, "alpha": 16, "rank_stabilized": false, "dropout": 0, "targets": ["q_proj", "v_proj"],
//    "base": {"weights": "/models/base/checkpoints/step-00000000/model.safetensors",
//             "from_run": "../base/checkpoints/step-00000000/model.safetensors", "digest": "5d1c.."}}
#pragma once

#include <optional>
#include <string>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/models/modules/lora.h"

namespace gyre {

// The name of the digest among the options of a run.
inline constexpr const char* kBaseOption = "base of the adapters";

struct LoraRecord {
  LoraOptions options;
  Path base;           // the file of the base's weights (find_model_file())
  std::string digest;  // weights_digest() of the base

  Json to_json(const Path& run) const;  // `run`: the directory that the file is written to
};

// Reads run/lora.json; nothing if there is none. The base is the file that it names, or, if that does not exist, the
// one at the same place seen from the run. Throws an Error that names the file if it is invalid.
std::optional<LoraRecord> find_lora_record(const Path& run);

// A checksum of the names and the values of all parameters, the same for all formats of files.
std::string weights_digest(const Parameters& parameters);

// Reads the weights of the base. Throws an Error that names `run` if the base does not exist or has other weights.
void load_base(const LoraRecord& record, const Path& run, Parameters& base);

// Adds the adapters that a checkpoint has, allocates and reads them.
void read_adapters(const Path& checkpoint_file, Parameters& base, LoraAdapters& adapters);

}  // namespace gyre
