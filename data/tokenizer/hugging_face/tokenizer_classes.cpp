#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"

#include <array>
#include <map>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {

namespace {

using Family = TokenizerFamily;

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

// The classes that transformers 5 registers for the types of models, with spaces around each type; "": any class that
// Gyre does not have. Types that are missing have none, and tokenizer.json is followed. An alias stands under the class
// that it is made of.
struct TypesOfClass {
  std::string_view tokenizer_class, types;
};
constexpr const char* kFollowing = "TokenizersBackend";
constexpr TypesOfClass kModelTypes[] = {
    {kFollowing,
     " arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr ernie4_5 ernie4_5_moe flex_olmo fuyu "
     "glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image glmasr got_ocr2 gpt_bigcode gradium_phonon_tts granite "
     "granitemoe granitemoehybrid granitemoeshared h2ovl_chat hyperclovax hyperclovax_vlm internlm2 internlm3 "
     "iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava llava_next mimo_v2_flash minicpm3 minicpm_ocr minicpmv "
     "minicpmv4_6 minicpmv4_7 minimax_m2 ministral ministral3 mistral mistral3 mistral_large4 mixtral modernbert "
     "modernbert-decoder molmo molmo2 nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3 olmo_hybrid omniasr "
     "opencua openvla paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral pocket_tts smolvlm "
     "stablelm step3_vl umt5 vipllava voxtral voxtral_realtime xlm-roberta-xl "},
    {"BertTokenizer",
     " align bark bert blip bros chinese_clip convbert distilbert electra ernie flava git grounding-dino layoutlm "
     "lxmert megatron-bert mm-grounding-dino mobilebert nezha nomic_bert squeezebert tvp vilt visual_bert "},
    {"RoFormerTokenizer", " roformer "},
    {"GPT2Tokenizer",
     " blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip instructblipvideo jais2 opt phi "
     "starcoder2 "},
    {"GPTNeoXTokenizer", " falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm "},
    {"RobertaTokenizer",
     " bart bridgetower clap data2vec-text florence2 ibert led lilt longformer mra mvp roberta roberta-prelayernorm "},
    {"Qwen2Tokenizer",
     " audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano hunyuan_vl internvl lighton_ocr "
     "moss_transcribe_diarize ovis2 qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 "
     "qwen3_asr qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe vibevoice "},
    {"",
     " aimv2 albert aya_vision bert-generation big_bird biogpt blenderbot blenderbot-small camembert canine clip "
     "clipseg clvp cohere cohere2 cpmant ctrl data2vec-audio deberta deberta-v2 dia diffusion_gemma dpr esm esmc "
     "esmfold2 fastspeech2_conformer flaubert fnet fsmt funnel gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text "
     "gpt-sw3 gpt_neox_japanese granite_speech5_ctc groupvit gte hubert idefics idefics2 jina_embeddings_v3 lasr_ctc "
     "lasr_encoder layoutlmv2 layoutlmv3 layoutxlm luke m2m_100 marian markuplm mbart metaclip_2 mgp-str mpnet mt5 "
     "musicgen musicgen_melody nemotron3_5_asr nemotron_asr_streaming nllb-moe omdet-turbo omniasr_ctc oneformer "
     "openai-gpt owlv2 owlvit parakeet_ctc parakeet_rnnt parakeet_tdt pegasus perceiver plbart pp_formulanet "
     "prophetnet qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp rag recurrent_gemma reformer rembert "
     "roc_bert sam3 sam3_video seamless_m4t seamless_m4t_v2 shieldgemma2 siglip siglip2 speech_to_text speecht5 "
     "splinter switch_transformers t5 t5gemma tapas tipsv2 trocr udop unispeech unispeech-sat videoprism vits wav2vec2 "
     "wav2vec2-bert wav2vec2-conformer whisper xclip xglm xlm xlm-roberta xlnet xmod yoso zaya "}};
// Types whose registered class transformers 5 takes whatever the settings say, unless it is TokenizersBackend, which
// does so for every type.
constexpr std::string_view kForcedTypes =
    " hyperclovax_vision_v2 qwen2 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen4_exp siglip2 ";

bool lists(std::string_view words, std::string_view word) { return words.find(concat(" ", word, " ")) != words.npos; }

// nullopt: no class is registered.
std::optional<std::string_view> class_of_model_type(std::string_view model_type) {
  for (const TypesOfClass& each : kModelTypes)
    if (lists(each.types, model_type)) return each.tokenizer_class;
  return std::nullopt;
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
IndexedJson comparable(const IndexedJson& part, bool adds_prefix_space) {
  if (part.is_array()) {
    IndexedJson list = IndexedJson::array();
    for (const auto& each : part) list.push_back(comparable(each, adds_prefix_space));
    return list;
  }
  if (!part.is_object()) return part;
  IndexedJson own = part;
  const IndexedJson type = own.value("type", IndexedJson());
  if (type == "ByteLevel") return byte_level(adds_prefix_space, part.value("use_regex", IndexedJson(true)) != false);
  if (type != "Sequence") return own;
  for (const char* list : {"pretokenizers", "normalizers"}) {
    if (!own.contains(list)) continue;
    own[list] = comparable(part[list], adds_prefix_space);
    if (own[list].is_array() && own[list].size() == 1) return own[list][0];
  }
  return own;
}

// The add_prefix_space of the byte-level part in a pre-tokenizer; nullopt: there is no such part.
std::optional<bool> prefix_space_in(const IndexedJson& part) {
  if (part.is_object() && part.value("type", IndexedJson()) == "ByteLevel")
    return part.value("add_prefix_space", IndexedJson(true)) != false;
  if (!part.is_structured()) return std::nullopt;
  for (const IndexedJson& each : part)
    if (const auto found = prefix_space_in(each)) return found;
  return std::nullopt;
}

// The flags of added tokens by content: lstrip, rstrip, single_word, normalized.
using AddedFlags = std::map<std::string, std::array<bool, 4>>;

// The added tokens of a tokenizer.json, if they count, and of the settings. is_plain: named ones have no flags.
AddedFlags added_flags(const IndexedJson& tokenizer, const Json& config, bool has_file, bool is_plain,
                       const std::string& context) {
  AddedFlags flags;
  const auto add = [&](const IndexedJson& token) {
    const auto is_set = [&](const char* key, bool otherwise) {
      return token.is_object() && token.value(key, IndexedJson(otherwise)) == true;
    };
    const IndexedJson content = token.is_object() ? token.value("content", IndexedJson()) : token;
    if (!content.is_string()) return;
    flags[content.get<std::string>()] = {is_set("lstrip", false), is_set("rstrip", false), is_set("single_word", false),
                                         is_set("normalized", !is_set("special", false))};
  };
  if (has_file)
    for (const IndexedJson& token : tokenizer.value("added_tokens", IndexedJson::array())) add(token);
  for (const auto& token : config.value("added_tokens_decoder", Json::object())) add(token);
  for (const auto& token : special_tokens(config, context)) {
    const IndexedJson content = token.is_object() ? token.value("content", Json()) : token;
    if (is_plain)
      add(content);
    else if (content.is_string() && !flags.contains(content.get<std::string>()))
      add(token);
  }
  return flags;
}

}  // namespace

std::string tokenizer_class_of(const Json& config) {
  const auto name = config.find("tokenizer_class");
  std::string text = name != config.end() && name->is_string() ? name->get<std::string>() : "";
  if (text.ends_with("Fast")) text.resize(text.size() - 4);
  return text;
}

TokenizerFamily family_of_class(std::string_view tokenizer_class) {
  for (const Name& each : kClasses)
    if (each.name == tokenizer_class) return each.family;
  return Family::other;
}

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

TokenizerFamily family_of_model_type(std::string_view model_type) {
  return family_of_class(class_of_model_type(model_type).value_or(""));
}

ClassOfTransformers class_of_transformers(const Json& config, std::string_view model_type, bool has_bytes) {
  const auto named = [](std::string_view name, std::string what) {
    return ClassOfTransformers{family_of_class(name), follows_tokenizer_json(name), std::move(what)};
  };
  const std::string name = tokenizer_class_of(config);
  const auto registered = class_of_model_type(model_type);
  const auto of_type = [&] { return named(*registered, concat("the class of the model type ", model_type)); };
  if (name.empty()) return registered ? of_type() : named(kFollowing, kFollowing);
  const auto code = config.find("auto_map");  // a class of the model's own, beside which the named one is taken
  const bool has_code = code != config.end() && (code->is_array() || code->contains("AutoTokenizer"));
  if (has_code) return named(name, name);
  if (registered && (registered == kFollowing || lists(kForcedTypes, model_type))) return of_type();
  return name == "LlamaTokenizer" && has_bytes ? named(kFollowing, kFollowing) : named(name, name);
}

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

std::string replaced_part_note(const IndexedJson& tokenizer, const Json& config, const ClassOfTransformers& theirs,
                               const std::string& context) {
  const auto place = tokenizer.find("pre_tokenizer");
  const IndexedJson words = place == tokenizer.end() ? IndexedJson() : *place;
  const auto note = [&](std::string_view what) {
    return concat("transformers 5 ", what, " by that of ", theirs.name,
                  ", and its ids may differ; Gyre follows tokenizer.json, as transformers 4 and tokenizers do");
  };
  const bool adds = flag(config, "add_prefix_space", false, context);
  if (theirs.family != Family::other) {
    if (comparable(tokenizer.value("normalizer", IndexedJson()), adds) !=
        comparable(normalizer_of(theirs.family, config, context), adds))
      return note("replaces the normalizer of the file");
    if (comparable(words, adds) != comparable(pre_tokenizer_of(theirs.family, config, context), adds))
      return note("replaces the pre-tokenizer of the file");
  } else if (!theirs.follows_file) {
    return note("may replace the normalizer or the pre-tokenizer of the file");
  }
  const auto in_file = prefix_space_in(words), setting = prefix_space_setting(config, context);
  if (!in_file) return "";
  const bool their_own = theirs.follows_file ? *in_file : adds, ours = setting.value_or(*in_file);
  if (their_own == ours) return "";
  const bool is_set = find_flag_setting(config, "add_prefix_space", context).has_value();
  return concat("transformers 5 ", their_own ? "adds a" : "adds no", " space before a text, as ",
                theirs.follows_file ? "tokenizer.json" : theirs.name, " says, and its ids differ; Gyre ",
                ours ? "adds one" : "adds none", ", as ",
                !setting ? "tokenizer.json"
                : is_set ? "add_prefix_space in tokenizer_config.json"
                         : tokenizer_class_of(config),
                " says");
}

std::string added_tokens_note(const IndexedJson& tokenizer, const Json& config, const ClassOfTransformers& theirs,
                              bool lists_added_tokens, const std::string& context) {
  const bool is_rebuilt = theirs.family != Family::other;
  Json their_config = config;
  const Json our_defaults = tokens_of(family_of_class(tokenizer_class_of(config)));
  for (const auto& [key, token] : our_defaults.items())
    if (config.value(key, Json()) == token) their_config.erase(key);
  set_default_tokens(theirs.family, their_config);
  const AddedFlags ours = added_flags(tokenizer, config, true, false, context),
                   own = added_flags(tokenizer, their_config, !is_rebuilt || !lists_added_tokens,
                                     theirs.family == Family::qwen2, context);
  for (const auto& [one, other] : {std::pair(&ours, &own), std::pair(&own, &ours)})
    for (const auto& [content, flags] : *one) {
      const auto place = other->find(content);
      if (place == other->end() || place->second != flags)
        return concat("transformers 5 finds other added tokens in a text, those of ", theirs.name, ": ",
                      quoted_for_message(content), " differs, and its ids may differ; Gyre follows the files");
    }
  return "";
}

}  // namespace gyre
