#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {

namespace {

using Family = TokenizerFamily;

constexpr const char* kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Name {
  std::string_view name;
  Family family;
};

constexpr Name kClasses[] = {{"BertTokenizer", Family::bert},        {"DistilBertTokenizer", Family::bert},
                             {"ElectraTokenizer", Family::bert},     {"MobileBertTokenizer", Family::bert},
                             {"SqueezeBertTokenizer", Family::bert}, {"LayoutLMTokenizer", Family::bert},
                             {"LxmertTokenizer", Family::bert},      {"RoFormerTokenizer", Family::roformer},
                             {"GPT2Tokenizer", Family::gpt2},        {"CodeGenTokenizer", Family::gpt2},
                             {"GPTNeoXTokenizer", Family::gpt_neox}, {"RobertaTokenizer", Family::roberta},
                             {"BartTokenizer", Family::roberta},     {"LongformerTokenizer", Family::roberta},
                             {"LEDTokenizer", Family::roberta},      {"MvpTokenizer", Family::roberta},
                             {"Qwen2Tokenizer", Family::qwen2}};

constexpr Name kModelTypes[] = {{"bert", Family::bert},
                                {"distilbert", Family::bert},
                                {"electra", Family::bert},
                                {"ernie", Family::bert},
                                {"layoutlm", Family::bert},
                                {"lxmert", Family::bert},
                                {"megatron-bert", Family::bert},
                                {"mobilebert", Family::bert},
                                {"nezha", Family::bert},
                                {"nomic_bert", Family::bert},
                                {"squeezebert", Family::bert},
                                {"visual_bert", Family::bert},
                                {"roformer", Family::roformer},
                                {"gpt2", Family::gpt2},
                                {"gpt_neo", Family::gpt2},
                                {"gptj", Family::gpt2},
                                {"codegen", Family::gpt2},
                                {"opt", Family::gpt2},
                                {"phi", Family::gpt2},
                                {"starcoder2", Family::gpt2},
                                {"gpt_neox", Family::gpt_neox},
                                {"mpt", Family::gpt_neox},
                                {"olmo", Family::gpt_neox},
                                {"mamba", Family::gpt_neox},
                                {"roberta", Family::roberta},
                                {"bart", Family::roberta},
                                {"longformer", Family::roberta},
                                {"data2vec-text", Family::roberta},
                                {"roberta-prelayernorm", Family::roberta},
                                {"qwen2", Family::qwen2},
                                {"qwen2_moe", Family::qwen2},
                                {"qwen3", Family::qwen2},
                                {"qwen3_moe", Family::qwen2}};

template <size_t kCount>
Family find(const Name (&names)[kCount], std::string_view name) {
  for (const Name& each : names)
    if (each.name == name) return each.family;
  return Family::other;
}

Json tokens_of(Family family) {
  constexpr const char* kEnd = "<|endoftext|>";
  switch (family) {
    case Family::bert:
    case Family::roformer:
      return {{"unk_token", "[UNK]"},
              {"sep_token", "[SEP]"},
              {"pad_token", "[PAD]"},
              {"cls_token", "[CLS]"},
              {"mask_token", "[MASK]"}};
    case Family::roberta:
      return {{"bos_token", "<s>"},   {"eos_token", "</s>"}, {"unk_token", "<unk>"},  {"sep_token", "</s>"},
              {"pad_token", "<pad>"}, {"cls_token", "<s>"},  {"mask_token", "<mask>"}};
    case Family::gpt2:
      return {{"bos_token", kEnd}, {"eos_token", kEnd}, {"unk_token", kEnd}};
    case Family::gpt_neox:
      return {{"bos_token", kEnd}, {"eos_token", kEnd}, {"unk_token", kEnd}, {"pad_token", "<|padding|>"}};
    case Family::qwen2:
      return {{"eos_token", kEnd}, {"unk_token", kEnd}, {"pad_token", kEnd}};
    case Family::other:
      break;
  }
  return Json::object();
}

bool flag(const Json& config, const char* key, bool otherwise, const std::string& context) {
  return find_flag_setting(config, key, context).value_or(otherwise);
}

// Without the fields that have no effect on ids, and with the others written out.
nlohmann::json comparable(const nlohmann::json& part, bool adds_prefix_space) {
  if (part.is_array()) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& each : part) list.push_back(comparable(each, adds_prefix_space));
    return list;
  }
  if (!part.is_object()) return part;
  nlohmann::json own = part;
  const nlohmann::json type = own.value("type", nlohmann::json());
  if (type == "ByteLevel") return byte_level(adds_prefix_space, part.value("use_regex", nlohmann::json(true)) != false);
  if (type != "Sequence") return own;
  for (const char* list : {"pretokenizers", "normalizers"}) {
    if (!own.contains(list)) continue;
    own[list] = comparable(part[list], adds_prefix_space);
    if (own[list].is_array() && own[list].size() == 1) return own[list][0];
  }
  return own;
}

// The add_prefix_space of the byte-level part in a pre-tokenizer; nullopt: there is no such part.
std::optional<bool> prefix_space_in(const nlohmann::json& part) {
  if (part.is_object() && part.value("type", nlohmann::json()) == "ByteLevel")
    return part.value("add_prefix_space", nlohmann::json(true)) != false;
  if (!part.is_structured()) return std::nullopt;
  for (const nlohmann::json& each : part)
    if (const auto found = prefix_space_in(each)) return found;
  return std::nullopt;
}

}  // namespace

std::string tokenizer_class_of(const Json& config) {
  const auto name = config.find("tokenizer_class");
  std::string text = name != config.end() && name->is_string() ? name->get<std::string>() : "";
  if (text.ends_with("Fast")) text.resize(text.size() - 4);
  return text;
}

TokenizerFamily family_of_class(std::string_view tokenizer_class) { return find(kClasses, tokenizer_class); }

bool follows_tokenizer_json(std::string_view tokenizer_class) {
  return tokenizer_class == "PreTrainedTokenizer" || tokenizer_class == "TokenizersBackend" ||
         tokenizer_class == "BloomTokenizer";
}

std::optional<bool> prefix_space_setting(const Json& config, const std::string& context) {
  const std::string name = tokenizer_class_of(config);
  if (follows_tokenizer_json(name)) return std::nullopt;
  const auto setting = find_flag_setting(config, "add_prefix_space", context);
  return family_of_class(name) == Family::other ? setting : setting.value_or(false);
}

std::string find_model_type(const Path& directory) {
  const Path file = directory / "config.json";
  if (!std::filesystem::exists(file)) return "";
  const auto config = find_json(read_file(file));
  if (!config || !config->is_object()) return "";
  const Json type = config->value("model_type", Json());
  return type.is_string() ? type.get<std::string>() : "";
}

TokenizerFamily family_of_model_type(std::string_view model_type) { return find(kModelTypes, model_type); }

void set_default_tokens(TokenizerFamily family, Json& config) {
  const Json defaults = tokens_of(family);
  for (const auto& [key, token] : defaults.items())
    if (!config.contains(key)) config[key] = token;
}

Json normalizer_of(TokenizerFamily family, const Json& config, const std::string& context) {
  if (family == Family::qwen2 || family == Family::gpt_neox) return {{"type", "NFC"}};
  if (!is_bert(family)) return nullptr;
  const bool lower = flag(config, "do_lower_case", true, context);
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", flag(config, "tokenize_chinese_chars", true, context)},
          {"strip_accents", flag(config, "strip_accents", lower, context)},
          {"lowercase", lower}};
}

Json pre_tokenizer_of(TokenizerFamily family, const Json& config, const std::string& context) {
  if (is_bert(family)) return {{"type", "BertPreTokenizer"}};
  const bool adds = flag(config, "add_prefix_space", false, context);
  if (family != Family::qwen2) return byte_level(adds, true);
  Json words = byte_level_words(kQwen2Words);
  words["pretokenizers"].back() = byte_level(adds, false);
  return words;
}

std::string replaced_part_note(const nlohmann::json& tokenizer, const Json& config, std::string_view model_type,
                               const std::string& context) {
  const std::string name = tokenizer_class_of(config);
  if (follows_tokenizer_json(name)) return "";
  const auto place = tokenizer.find("pre_tokenizer");
  const nlohmann::json words = place == tokenizer.end() ? nlohmann::json() : *place;
  Family family = name.empty() ? family_of_model_type(model_type) : family_of_class(name);
  const std::string their_class = name.empty() ? concat("the class of the model type ", model_type) : name;
  const auto note = [&](std::string_view what) {
    return concat("transformers 5 ", what, " by that of ", their_class,
                  ", and its ids may differ; Gyre follows tokenizer.json, as transformers 4 and tokenizers do");
  };
  const bool adds = flag(config, "add_prefix_space", false, context);
  if (family == Family::other) {
    const bool has_bytes = words.dump().find("\"ByteLevel\"") != std::string::npos;
    const bool is_free = name.empty() || (name == "LlamaTokenizer" && has_bytes);
    if (!is_free) return note("may replace the normalizer or the pre-tokenizer of the file");
  } else {
    if (comparable(tokenizer.value("normalizer", nlohmann::json()), adds) !=
        comparable(normalizer_of(family, config, context), adds))
      return note("replaces the normalizer of the file");
    if (comparable(words, adds) != comparable(pre_tokenizer_of(family, config, context), adds))
      return note("replaces the pre-tokenizer of the file");
  }
  const auto in_file = prefix_space_in(words), setting = prefix_space_setting(config, context);
  if (!in_file) return "";
  const bool theirs = family == Family::other ? *in_file : adds, ours = setting.value_or(*in_file);
  if (theirs == ours) return "";
  return concat("transformers 5 ", theirs ? "adds a" : "adds no", " space before a text, as ",
                family == Family::other ? "tokenizer.json" : their_class, " says, and its ids differ; Gyre ",
                ours ? "adds one" : "adds none", ", as ",
                setting ? "add_prefix_space in tokenizer_config.json" : "tokenizer.json", " says");
}

}  // namespace gyre
