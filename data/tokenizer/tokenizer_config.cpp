#include "gyre/data/tokenizer/tokenizer_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {
namespace {

Path config_file(const Path& directory) { return directory / "tokenizer_config.json"; }

// Null if there is no file.
IndexedJson read_object(const Path& file) {
  if (!std::filesystem::exists(file)) return {};
  const std::string context = tokenizer_context(file);
  IndexedJson object = parse_strict_json(read_file(file), kTokenizerJsonDepth, context, "the file");
  require(object.is_object(), context, "expected a JSON object");
  return object;
}

constexpr const char* kClass = "tokenizer_class";
constexpr const char *kExtra = "extra_special_tokens", *kAdditional = "additional_special_tokens";

bool is_empty(const Json& config, const char* key) {
  const auto place = config.find(key);
  return place == config.end() || place->is_null() || place->empty();
}

// special_tokens_map.json, whose tokens replace those of tokenizer_config.json, except for lists.
void add_special_tokens_map(const Path& file, Json& config) {
  const IndexedJson specials = read_object(file);
  const auto extra = config.find(kExtra);  // an object names tokens, and is no list
  const bool has_list =
      !is_empty(config, kAdditional) || (extra != config.end() && extra->is_array() && !extra->empty());
  for (const auto& [key, value] : specials.items()) {
    if (key == kAdditional && !has_list) config[key] = value;
    if (key == kExtra && value.is_array() && (is_empty(config, kExtra) || config[kExtra].is_array())) {
      auto& list = config[kExtra] = config.value(kExtra, Json::array());
      if (list.empty()) list = config.value(kAdditional, Json::array());
      if (!list.is_array()) list = Json::array();
      for (const IndexedJson& token : value) list.push_back(Json(token));
    }
    if (!key.ends_with("_token")) continue;
    config[key] = value;
    if (value.is_object()) config[key]["special"] = true;
  }
}

std::string content_of(const Json& token) {
  const auto content = token.is_object() ? token.value("content", Json()) : token;
  return content.is_string() ? content.get<std::string>() : "";
}

std::vector<std::string> contents_of(const Json& config) {
  std::vector<std::string> contents;
  for (const char* key : {kExtra, kAdditional}) {
    if (is_empty(config, key) || !config[key].is_array()) continue;
    for (const auto& token : config[key]) contents.push_back(content_of(token));
    break;
  }
  return contents;
}

// added_tokens.json: {"<extra>": 32000}. list: the special tokens that have no names of their own.
void add_legacy_tokens(const Path& file, const std::vector<std::string>& list, Json& config) {
  const IndexedJson tokens = read_object(file);
  if (tokens.is_null() || tokens.empty()) return;
  std::vector<std::string> specials = list;
  for (const auto& [key, value] : config.items())
    if (key.ends_with("_token")) specials.push_back(content_of(value));
  auto& decoder = config["added_tokens_decoder"] = IndexedJson::object();
  for (const auto& [content, id] : tokens.items()) {
    require(id.is_number_unsigned(), tokenizer_context(file), "expected an id for ", quoted_for_message(content),
            ", got ", cut_for_message(id.dump()));
    const bool is_special = std::ranges::count(specials, content) > 0;
    decoder[std::to_string(id.get<uint64_t>())] = {{"content", content},        {"lstrip", false},
                                                   {"normalized", !is_special}, {"rstrip", false},
                                                   {"single_word", false},      {"special", is_special}};
  }
}

}  // namespace

std::string tokenizer_context(const Path& file) { return concat("[vocabulary] ", file.string(), ": "); }

std::optional<bool> find_lower_case_setting(const Path& directory) {
  const IndexedJson config = read_object(config_file(directory));
  if (config.is_null()) return std::nullopt;
  const std::string context = tokenizer_context(config_file(directory));
  const auto flag = [&](const char* name, bool otherwise) {
    const auto place = config.find(name);
    if (place == config.end() || place->is_null()) return otherwise;
    require(place->is_boolean(), context, "expected ", name, " to be true or false, got ",
            cut_for_message(place->dump()));
    return place->get<bool>();
  };
  const bool lower_case = flag("do_lower_case", true);
  require(flag("strip_accents", lower_case) == lower_case, context,
          "expected strip_accents to equal do_lower_case or to be null");
  require(flag("tokenize_chinese_chars", true), context, "expected tokenize_chinese_chars to be true");
  return lower_case;
}

Json find_tokenizer_config(const Path& directory) {
  Json config = Json::object();
  if (std::filesystem::exists(config_file(directory))) {
    const std::string context = tokenizer_context(config_file(directory));
    config = parse_ordered_json(read_file(config_file(directory)), kTokenizerJsonDepth, context, "the file");
    require(config.is_object(), context, "expected a JSON object");
  }
  if (!config.contains("added_tokens_decoder")) {
    // As in transformers 5, the list of special_tokens_map.json does not make tokens of added_tokens.json special.
    const bool has_list = !is_empty(config, kAdditional);
    add_special_tokens_map(directory / "special_tokens_map.json", config);
    const bool is_counted = has_list || !is_empty(config, kExtra);
    add_legacy_tokens(directory / "added_tokens.json", is_counted ? contents_of(config) : std::vector<std::string>{},
                      config);
  }
  // config.json of a model names it in some directories.
  if (is_empty(config, kClass)) {
    const Path model = directory / "config.json";
    const auto json = std::filesystem::exists(model) ? find_json(read_file(model)) : std::nullopt;
    if (json && json->is_object() && !is_empty(*json, kClass)) config[kClass] = (*json)[kClass];
  }
  // It replaces that of tokenizer_config.json.
  if (const Path chat = directory / kChatTemplateFile; std::filesystem::exists(chat))
    config[kChatTemplate] = read_file(chat);
  return config;
}

std::string find_chat_template(const Json& config) {
  const auto found = config.find(kChatTemplate);
  if (found == config.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return "";
  for (const Json& named : *found) {
    const bool is_default = named.is_object() && named.value("name", Json()) == "default";
    if (is_default && named.value("template", Json()).is_string()) return named["template"].get<std::string>();
  }
  return "";
}

bool lists_added_tokens(const Path& directory) {
  const IndexedJson config = read_object(config_file(directory));
  return config.is_object() && config.contains("added_tokens_decoder");
}

std::string find_token_setting(const Json& config, const char* key, const std::string& context) {
  const auto place = config.find(key);
  if (place == config.end() || place->is_null()) return "";
  // transformers writes some tokens as objects.
  const auto token = place->is_object() ? place->value("content", Json()) : *place;
  require(token.is_string(), context, "tokenizer_config.json: expected ", key, " to be a token or null, got ",
          cut_for_message(json_text(*place)));
  return token.get<std::string>();
}

std::optional<bool> find_flag_setting(const Json& config, const char* key, const std::string& context) {
  const auto place = config.find(key);
  if (place == config.end() || place->is_null()) return std::nullopt;
  require(place->is_boolean(), context, "tokenizer_config.json: expected ", key, " to be true or false, got ",
          cut_for_message(json_text(*place)));
  return place->get<bool>();
}

Json named_special_tokens(const Json& config, const std::string& context) {
  constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};
  Json tokens = Json::array();
  for (const char* name : kNames)
    if (!find_token_setting(config, name, context).empty()) tokens.push_back(config[name]);
  for (const auto& [key, token] : config.items())
    if (key.ends_with("_token") && std::ranges::count(kNames, key) == 0 && (token.is_string() || token.is_object()))
      tokens.push_back(token);
  for (const Json& token : config.value("model_specific_special_tokens", Json::object())) tokens.push_back(token);
  return tokens;
}

Json special_tokens(const Json& config, const std::string& context) {
  Json tokens = named_special_tokens(config, context);
  for (const char* key : {kExtra, kAdditional}) {
    const Json more = config.value(key, Json());
    require(more.is_null() || more.is_array() || more.is_object(), context, "tokenizer_config.json: expected ", key,
            " to be a list of tokens, got ", cut_for_message(json_text(more)));
    for (const Json& token : more) tokens.push_back(token);
    if (more.is_array() && !more.empty()) break;
  }
  return tokens;
}

bool has_roformer_tokenizer(const Path& directory) {
  const auto config = find_tokenizer_config(directory);
  const auto name = config.find(kClass);
  return name != config.end() && name->is_string() && name->get<std::string>().starts_with("RoFormer");
}

void write_tokenizer_config(const Path& directory, const std::string& tokenizer_class, bool lower_case,
                            std::optional<int64_t> longest) {
  Json config{{"tokenizer_class", tokenizer_class}, {"do_lower_case", lower_case}};
  if (longest) config["model_max_length"] = *longest;
  write_file(config_file(directory), config.dump(2) + "\n");
}

}  // namespace gyre
