#include "gyre/models/hugging_face/peft.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"
#include "gyre/models/hugging_face/tensor_checks.h"
#include "gyre/models/hugging_face/weights.h"

namespace gyre {
namespace {

constexpr const char* kPrefix = "base_model.model.";
constexpr const char *kA = ".lora_A.weight", *kB = ".lora_B.weight";

// Keys of other kinds of adapters, which must be absent, null, false or empty.
constexpr std::array kOtherKinds{"use_dora",          "use_qalora",        "use_bdlora",      "lora_bias",
                                 "modules_to_save",   "rank_pattern",      "alpha_pattern",   "trainable_token_indices",
                                 "target_parameters", "layer_replication", "megatron_config", "alora_invocation_tokens",
                                 "arrow_config",      "loftq_config"};

// Keys that take modules away from those that the targets choose.
constexpr std::array kFilters{"layers_to_transform", "exclude_modules"};

bool is_off(const Json& value) {
  return value.is_null() || value == false || ((value.is_object() || value.is_array()) && value.empty());
}

[[noreturn]] void refuse(const std::string& context, const std::string& key, std::string_view expected,
                         const Json& got) {
  throw Error(context, key, ": expected ", expected, ", got ", cut_for_message(got.dump()));
}

void require_plain(const Json& json, const std::string& context) {
  if (json.value("peft_type", Json()) != "LORA")
    refuse(context, "peft_type", "\"LORA\"", json.value("peft_type", Json()));
  for (const char* key : kOtherKinds)
    if (json.contains(key) && !is_off(json[key])) refuse(context, key, "none, as in a plain LoRA", json[key]);
  if (const Json bias = json.value("bias", Json("none")); bias != "none") refuse(context, "bias", "\"none\"", bias);
  // Some initializations change the weights of the base, which the adapters then belong to.
  const Json initial = json.value("init_lora_weights", Json(true));
  const bool keeps_base = !initial.is_string() || initial == "gaussian" || initial == "orthogonal" || initial == "eva";
  if (!keeps_base) refuse(context, "init_lora_weights", "one that keeps the weights of the base", initial);
}

double number_of(const Json& json, const char* key, const Bounds& bounds, const std::string& context) {
  const Json value = json.value(key, Json());
  if (!value.is_number() || !bounds.contain(value.get<double>())) refuse(context, key, bounds.expected, value);
  return value.get<double>();
}

std::vector<std::string> read_words(const Json& json, const char* key, const std::string& context) {
  const Json value = json.value(key, Json());
  if (value.is_string()) return {value.get<std::string>()};
  const bool is_list = value.is_array() && !value.empty() &&
                       std::ranges::all_of(value, [](const Json& word) { return word.is_string(); });
  if (!is_list) refuse(context, key, "a list of names", value);
  return value;
}

// The adapter that changes all rows of a module, or null if none changes any. Throws if one changes some of them.
const LowRankAdapter* adapter_of(const HuggingFaceModule& module) {
  const auto is_within = [&](const LowRankAdapter& adapter) {
    return [&](int64_t row) { return row >= adapter.first && row < adapter.first + adapter.rows; };
  };
  for (const LowRankAdapter& adapter : module.weight->adapters) {
    if (std::ranges::all_of(module.rows, is_within(adapter))) return &adapter;
    require(std::ranges::none_of(module.rows, is_within(adapter)), "[peft] transformers' ", module.name,
            " is one linear layer, but the adapters change parts of it: train with --lora-targets all-linear or ",
            last_part(module.name), ", or merge them (gyre checkpoint merge, export --to hf)");
  }
  return nullptr;
}

// Copies the rows of b from our order, that of the weight, to the order of transformers' module, or back.
enum class Order : uint8_t { theirs, ours };
void copy_rows(const Tensor& from, const Tensor& to, const HuggingFaceModule& module, int64_t first, Order order) {
  for (size_t i = 0; i < module.rows.size(); ++i) {
    const int64_t ours = module.rows[i] - first, theirs = int64_t(i);
    const int64_t source = order == Order::theirs ? ours : theirs, target = order == Order::theirs ? theirs : ours;
    to.slice(target, target + 1).copy_from(from.slice(source, source + 1));
  }
}

// Whether a list of PEFT's target_modules chooses this module: by its name or the end of it. A regular expression,
// which is one target, chooses none here.
bool is_chosen(std::string_view name, const std::vector<std::string>& targets) {
  return std::ranges::any_of(targets,
                             [&](const std::string& target) { return name == target || name.ends_with("." + target); });
}

// The names of the modules, or their last parts, if these choose the same modules.
std::set<std::string> target_modules(const std::vector<HuggingFaceModule>& all, const std::set<std::string>& adapted) {
  std::set<std::string> words;
  for (const std::string& name : adapted) words.emplace(last_part(name));
  const bool chooses_others = std::ranges::any_of(all, [&](const HuggingFaceModule& module) {
    return words.contains(std::string(last_part(module.name))) && !adapted.contains(module.name);
  });
  return chooses_others ? adapted : words;
}

}  // namespace

PeftConfig parse_peft_config(std::string_view text, const std::string& context) {
  const Json json = parse_ordered_json(text, kMaxJsonDepth, context, "the file");
  require(json.is_object(), context, "expected an object, got ", cut_for_message(json.dump()));
  require_plain(json, context);
  PeftConfig peft;
  LoraOptions& options = peft.options;
  const Json rank = json.value("r", Json());
  const bool is_rank = rank.is_number_integer() && rank > 0 && rank <= kMaxDimension;
  if (!is_rank) refuse(context, "r", "a rank of at least 1", rank);
  options.rank = rank;
  options.alpha = number_of(json, "lora_alpha", positive(), context);
  if (json.contains("lora_dropout")) options.dropout = number_of(json, "lora_dropout", fraction(), context);
  const Json stabilized = json.value("use_rslora", Json(false));
  if (!stabilized.is_boolean()) refuse(context, "use_rslora", "true or false", stabilized);
  options.rank_stabilized = stabilized;
  options.targets = read_words(json, "target_modules", context);
  peft.has_filters = std::ranges::any_of(kFilters, [&](const char* key) { return !is_off(json.value(key, Json())); });
  return peft;
}

PeftAdapter peft_adapter(Parameters& base, const LoraOptions& options, const EncoderOnlyConfig& config) {
  const std::vector<HuggingFaceModule> modules = hugging_face_modules(base, config);
  PeftAdapter made;
  std::set<std::string> adapted;
  for (const HuggingFaceModule& module : modules) {
    const LowRankAdapter* adapter = adapter_of(module);
    if (adapter == nullptr) continue;
    adapted.insert(module.name);
    const Tensor b = Tensor::empty({int64_t(module.rows.size()), adapter->b->shape[1]});
    copy_rows(adapter->b->value, b, module, adapter->first, Order::theirs);
    made.tensors.push_back({concat(kPrefix, module.name, kA), adapter->a->value});
    made.tensors.push_back({concat(kPrefix, module.name, kB), b});
  }
  require(!made.tensors.empty(), "[peft] expected adapters, found none");
  made.config = {{"peft_type", "LORA"},
                 {"task_type", config.causal ? Json("CAUSAL_LM") : Json()},
                 {"base_model_name_or_path", Json()},
                 {"r", options.rank},
                 {"lora_alpha", options.alpha},
                 {"lora_dropout", options.dropout},
                 {"use_rslora", options.rank_stabilized},
                 {"target_modules", target_modules(modules, adapted)},
                 {"fan_in_fan_out", stores_transposed(config)},
                 {"bias", "none"},
                 {"inference_mode", true}};
  return made;
}

void read_peft_weights(const SafetensorsFile& file, const PeftConfig& peft, Parameters& base, LoraAdapters& adapters,
                       const EncoderOnlyConfig& config) {
  require(!file.entries().empty(), "[peft] ", file.path().string(), ": expected adapters, found no tensors");
  std::vector<HuggingFaceModule> found = hugging_face_modules(base, config);
  std::erase_if(found, [&](const HuggingFaceModule& module) {
    if (file.find(concat(kPrefix, module.name, kA)) != nullptr) return false;
    require(peft.has_filters || !is_chosen(module.name, peft.options.targets), "[peft] ", file.path().string(),
            ": expected adapters of all modules that ", kPeftConfigFile, " chooses, but ", module.name, " has none");
    return true;
  });
  const std::vector<LinearModule> linear = linear_modules(base);
  for (const HuggingFaceModule& module : found) {
    const int64_t first = *std::ranges::min_element(module.rows);
    adapters.add(*std::ranges::find_if(linear, [&](const LinearModule& each) {
      return each.weight == module.weight && each.first == first && each.rows == int64_t(module.rows.size());
    }));
  }
  adapters.parameters().allocate_zeros();
  std::vector<TensorRequest> requests;
  for (const HuggingFaceModule& module : found) {
    const LowRankAdapter adapter = *adapter_of(module);
    requests.push_back(
        {concat(kPrefix, module.name, kA), adapter.a->shape,
         [a = adapter.a](const SafetensorsFile& from, const SafetensorsEntry& entry) { from.read(entry, a->value); }});
    requests.push_back({concat(kPrefix, module.name, kB), adapter.b->shape,
                        [adapter, &module](const SafetensorsFile& from, const SafetensorsEntry& entry) {
                          const Tensor b = Tensor::empty(adapter.b->shape);
                          from.read(entry, b);
                          copy_rows(b, adapter.b->value, module, adapter.first, Order::ours);
                        }});
  }
  load_tensors({&file, 1}, requests);
  require_finite({&file, 1}, [](const std::string& name) { return name; });
}

}  // namespace gyre
