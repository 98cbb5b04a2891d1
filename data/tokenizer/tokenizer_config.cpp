#include "gyre/data/tokenizer/tokenizer_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"

namespace gyre {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 20;  // added tokens are at depth three

Path config_file(const Path& directory) { return directory / "tokenizer_config.json"; }

std::string context_of(const Path& file) { return concat("[vocabulary] ", file.string(), ": "); }

// Null if there is no file.
Json read_object(const Path& file) {
  if (!std::filesystem::exists(file)) return {};
  const std::string context = context_of(file);
  Json object = parse_strict_json(read_file(file), kDeepest, context, "the file");
  require(object.is_object(), context, "expected a JSON object");
  return object;
}

bool is_special_name(const std::string& key) { return key.ends_with("_token") || key.ends_with("_special_tokens"); }

// added_tokens.json: {"<extra>": 32000}.
void add_legacy_tokens(const Path& file, nlohmann::ordered_json& config) {
  const Json tokens = read_object(file);
  if (tokens.is_null() || tokens.empty()) return;
  auto& decoder = config["added_tokens_decoder"] = Json::object();
  for (const auto& [content, id] : tokens.items()) {
    require(id.is_number_unsigned(), context_of(file), "expected an id for ", quoted_for_message(content), ", got ",
            cut_for_message(id.dump()));
    bool is_special = false;
    for (const auto& [key, value] : config.items())
      is_special = is_special || (is_special_name(key) && value.dump().find(Json(content).dump()) != std::string::npos);
    decoder[std::to_string(id.get<uint64_t>())] = {{"content", content},        {"lstrip", false},
                                                   {"normalized", !is_special}, {"rstrip", false},
                                                   {"single_word", false},      {"special", is_special}};
  }
}

}  // namespace

std::optional<bool> find_lower_case_setting(const Path& directory) {
  const Json config = read_object(config_file(directory));
  if (config.is_null()) return std::nullopt;
  const std::string context = context_of(config_file(directory));
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

nlohmann::ordered_json find_tokenizer_config(const Path& directory) {
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  if (std::filesystem::exists(config_file(directory))) {
    const std::string context = context_of(config_file(directory));
    config = parse_ordered_json(read_file(config_file(directory)), kDeepest, context, "the file");
    require(config.is_object(), context, "expected a JSON object");
  }
  if (!config.contains("added_tokens_decoder")) {
    const Json specials = read_object(directory / "special_tokens_map.json");
    for (const auto& [key, value] : specials.items())
      if (is_special_name(key)) config[key] = value;
    add_legacy_tokens(directory / "added_tokens.json", config);
  }
  const Path chat = directory / "chat_template.jinja";
  if (std::filesystem::exists(chat) && !config.contains("chat_template")) config["chat_template"] = read_file(chat);
  return config;
}

std::string find_token_setting(const nlohmann::ordered_json& config, const char* key, const std::string& context) {
  const auto place = config.find(key);
  if (place == config.end() || place->is_null()) return "";
  // transformers writes some tokens as objects.
  const auto token = place->is_object() ? place->value("content", nlohmann::ordered_json()) : *place;
  require(token.is_string(), context, "tokenizer_config.json: expected ", key, " to be a token or null, got ",
          cut_for_message(json_text(*place)));
  return token.get<std::string>();
}

std::optional<bool> find_flag_setting(const nlohmann::ordered_json& config, const char* key,
                                      const std::string& context) {
  const auto place = config.find(key);
  if (place == config.end() || place->is_null()) return std::nullopt;
  require(place->is_boolean(), context, "tokenizer_config.json: expected ", key, " to be true or false, got ",
          cut_for_message(json_text(*place)));
  return place->get<bool>();
}

bool has_roformer_tokenizer(const Path& directory) {
  const Json config = read_object(config_file(directory));
  const auto name = config.find("tokenizer_class");
  return name != config.end() && name->is_string() && name->get<std::string>().starts_with("RoFormer");
}

void write_tokenizer_config(const Path& directory, const std::string& tokenizer_class, bool lower_case,
                            std::optional<int64_t> longest) {
  nlohmann::ordered_json config{{"tokenizer_class", tokenizer_class}, {"do_lower_case", lower_case}};
  if (longest) config["model_max_length"] = *longest;
  write_file(config_file(directory), config.dump(2) + "\n");
}

}  // namespace gyre
