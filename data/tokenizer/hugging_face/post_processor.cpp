#include "gyre/data/tokenizer/hugging_face/post_processor.h"

#include "gyre/core/sizes.h"

namespace gyre {

namespace {

int32_t read_id(JsonPart& part, const std::string& key, const nlohmann::json& id) {
  part.expect(id.is_number_unsigned() && id <= kMaxDimension, key, "an id", id);
  return id.get<int32_t>();
}

// "special_tokens" has {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}.
TemplateToken find_token(JsonPart& part, const std::string& content) {
  const auto& tokens = part.get("special_tokens");
  part.expect(tokens.is_object() && tokens.contains(content), "special_tokens", "the tokens of the template", tokens);
  const auto& token = tokens[content];
  const bool is_single = token.is_object() && token.contains("ids") && token["ids"].is_array() &&
                         token["ids"].size() == 1 && token.value("tokens", nlohmann::json()) == nlohmann::json{content};
  part.expect(is_single, "special_tokens", "one id for each token", token);
  return {content, read_id(part, "special_tokens", token["ids"][0])};
}

// "single" is a list of {"SpecialToken": {"id": "<s>", ...}} and one {"Sequence": ...}, the text.
TextTemplate read_template(JsonPart& part) {
  const auto& single = part.get("single");
  const std::string expected = "special tokens around one text";
  part.expect(single.is_array(), "single", expected, single);
  TextTemplate read;
  bool has_text = false;
  for (const auto& item : single) {
    part.expect(item.is_object() && item.size() == 1, "single", expected, single);
    if (item.contains("Sequence")) {
      part.expect(!has_text, "single", expected, single);
      has_text = true;
      continue;
    }
    part.expect(item.contains("SpecialToken"), "single", expected, single);
    JsonPart token(item["SpecialToken"], part.context(), part.name_of("single") + ".SpecialToken");
    (has_text ? read.after : read.before).push_back(find_token(part, token.text("id")));
  }
  part.expect(has_text, "single", expected, single);
  part.ignore({"pair", "special_tokens"});
  return read;
}

// BertProcessing and RobertaProcessing: ["</s>", 2].
TemplateToken read_token(JsonPart& part, const char* key) {
  const auto& token = part.get(key);
  part.expect(token.is_array() && token.size() == 2 && token[0].is_string(), key, "a token and its id", token);
  return {token[0].get<std::string>(), read_id(part, key, token[1])};
}

}  // namespace

TextTemplate read_post_processor(const nlohmann::json& json, const std::string& context) {
  TextTemplate read;
  if (json.is_null()) return read;
  JsonPart(json, context, "post_processor").for_each("processors", [&](JsonPart& part) {
    const std::string type = part.type();
    TextTemplate own;
    if (type == "TemplateProcessing") {
      own = read_template(part);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      own.before = {read_token(part, "cls")};
      own.after = {read_token(part, "sep")};
      part.ignore({"trim_offsets", "add_prefix_space"});
    } else {
      part.expect(type == "ByteLevel", "type", "ByteLevel, TemplateProcessing, BertProcessing or RobertaProcessing",
                  type);
      part.ignore({"add_prefix_space", "trim_offsets", "use_regex"});
    }
    part.finish();
    // A later processor puts its tokens around those of the ones before it.
    read.before.insert(read.before.begin(), own.before.begin(), own.before.end());
    read.after.insert(read.after.end(), own.after.begin(), own.after.end());
  });
  return read;
}

}  // namespace gyre
