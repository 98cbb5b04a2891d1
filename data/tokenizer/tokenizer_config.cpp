#include "gyre/data/tokenizer/tokenizer_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"

namespace gyre {
namespace {

Path config_file(const Path& directory) { return directory / "tokenizer_config.json"; }

std::string context_of(const Path& directory) { return concat("[vocabulary] ", config_file(directory).string(), ": "); }

// Null if there is no file.
nlohmann::json read_config(const Path& directory) {
  if (!std::filesystem::exists(config_file(directory))) return {};
  constexpr int kDeepest = 20;  // added tokens are at depth three
  const std::string context = context_of(directory);
  nlohmann::json config = parse_strict_json(read_file(config_file(directory)), kDeepest, context, "the file");
  require(config.is_object(), context, "expected a JSON object");
  return config;
}

}  // namespace

std::optional<bool> find_lower_case_setting(const Path& directory) {
  const nlohmann::json config = read_config(directory);
  if (config.is_null()) return std::nullopt;
  const std::string context = context_of(directory);
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

std::string find_token_setting(const Path& directory, const char* key) {
  const nlohmann::json config = read_config(directory);
  const auto place = config.find(key);
  if (place == config.end() || place->is_null()) return "";
  // transformers writes some tokens as objects.
  const nlohmann::json token = place->is_object() ? place->value("content", nlohmann::json()) : *place;
  require(token.is_string(), context_of(directory), "expected ", key, " to be a token or null, got ",
          cut_for_message(place->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  return token.get<std::string>();
}

bool has_roformer_tokenizer(const Path& directory) {
  const nlohmann::json config = read_config(directory);
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
