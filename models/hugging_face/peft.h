// LoRA adapters in the format of Hugging Face's PEFT: adapter_config.json and adapter_model.safetensors, with tensors
// base_model.model.MODULE.lora_A.weight (rank, in) and .lora_B.weight (out, rank) of transformers' modules.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/models/config/config.h"
#include "gyre/models/modules/lora.h"

namespace gyre {

inline constexpr const char* kPeftConfigFile = "adapter_config.json";
inline constexpr const char* kPeftWeightsFile = "adapter_model.safetensors";

struct PeftConfig {
  LoraOptions options;  // with the targets of PEFT
  // Whether layers_to_transform or exclude_modules choose fewer modules than the targets.
  bool has_filters = false;
};
// Parses the text of adapter_config.json. Throws an Error, which begins with `context`, for a key of another type, and
// for what is no plain LoRA: DoRA, trained modules, ranks or biases by module, ..
PeftConfig parse_peft_config(std::string_view text, const std::string& context);

// An adapter of a model as PEFT has it.
struct PeftAdapter {
  Json config;  // adapter_config.json; the caller sets base_model_name_or_path
  std::vector<NamedTensor> tensors;
};
// `base`: the parameters that the adapters are attached to, of a model with this config, which need not be allocated.
// Throws an Error if transformers has no linear layers for the adapters.
PeftAdapter peft_adapter(Parameters& base, const LoraOptions& options, const EncoderOnlyConfig& config);

// Adds the adapters in the file, allocates and reads them. `base`: as in peft_adapter(). Throws an Error if a module
// that a list of targets chooses, without filters, has no adapter in the file, and as load_tensors().
void read_peft_weights(const SafetensorsFile& file, const PeftConfig& peft, Parameters& base, LoraAdapters& adapters,
                       const EncoderOnlyConfig& config);

}  // namespace gyre
