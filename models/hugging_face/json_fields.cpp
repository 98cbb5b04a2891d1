#include "gyre/models/hugging_face/json_fields.h"

#include <nlohmann/json.hpp>
#include <regex>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config_json.h"

namespace gyre {

namespace {

// Activations that Hugging Face calls differently. Of several names, an export writes the first.
struct ActivationNames {
  const char *ours, *theirs;
};
constexpr ActivationNames kActivations[] = {
    {"gelu", "gelu"},           {"gelu", "gelu_python"}, {"gelu-tanh", "gelu_new"}, {"gelu-tanh", "gelu_pytorch_tanh"},
    {"gelu-tanh", "gelu_fast"}, {"silu", "silu"},        {"silu", "swish"}};

}  // namespace

void rename_activation_from_theirs(Json& json, const char* key) {
  for (const ActivationNames& names : kActivations) {
    if (json.value(key, Json()) == names.theirs) json[key] = names.ours;
  }
}

void rename_activation_to_theirs(Json& json, const char* key) {
  for (const ActivationNames& names : kActivations) {
    if (json[key] != names.ours) continue;
    json[key] = names.theirs;
    return;
  }
}

Json without_nulls(const Json& json) {
  Json result = json;
  for (auto key = result.begin(); key != result.end();) {
    const bool is_switch = key.key() == "tie_word_embeddings" || key.key() == "use_parallel_residual";
    if (key->is_null() && is_switch) *key = false;
    if (key->is_null()) {
      key = result.erase(key);
    } else {
      ++key;
    }
  }
  return result;
}

void require_fixed(const Json& json, const Json& fixed, const std::string& context) {
  for (const auto& [key, expected] : fixed.items()) {
    const auto got = json.find(key);
    require(got == json.end() || (got->is_null() && expected != true) || *got == expected, context, key, ": expected ",
            expected.dump(), ", the only supported value, got ", got == json.end() ? "" : cut_for_message(got->dump()));
  }
}

std::string differences(const Json& config, const Json& needed) {
  std::string lines;
  for (const auto& [key, value] : needed.items()) {
    if (config.at(key) == value) continue;
    lines += concat("\n  ", key, ": expected ", value.dump(), ", got ", config.at(key).dump());
  }
  return lines;
}

std::string on_one_line(const std::string& lines) {
  constexpr std::string_view kBreak = "\n  ";
  std::string one_line;
  for (size_t at = kBreak.size(); at < lines.size();) {
    const size_t end = std::min(lines.find(kBreak, at), lines.size());
    one_line += (one_line.empty() ? "" : "; ") + lines.substr(at, end - at);
    at = end + kBreak.size();
  }
  return one_line;
}

std::string keys_behind(const Json& json, const std::string& message) {
  static constexpr std::pair<const char*, const char*> kKeysOfWords[] = {{"kv_heads", "num_key_value_heads"},
                                                                         {"dims", "head_dim"},
                                                                         {"heads|head|dims", "num_attention_heads"},
                                                                         {"heads|head|dims", "n_head"},
                                                                         {"dim|width|dims", "hidden_size"},
                                                                         {"dim|width|dims", "n_embd"},
                                                                         {"heads|head|dims", "encoder_attention_heads"},
                                                                         {"dim|width|dims", "d_model"}};
  std::string keys;
  for (const auto& [words, key] : kKeysOfWords) {
    if (json.contains(key) && std::regex_search(message, std::regex(concat("\\b(", words, ")\\b"))))
      keys += concat(keys.empty() ? "; see " : ", ", key);
  }
  return keys;
}

Json json_of(RopeOptions options) {
  ConfigWriter writer;
  OptionList list;
  options.declare(list);
  for (const OptionList::Entry& entry : list.entries())
    visit_field(writer, key_of(entry.option), entry.option.value.field);
  return writer.json;
}

}  // namespace gyre
