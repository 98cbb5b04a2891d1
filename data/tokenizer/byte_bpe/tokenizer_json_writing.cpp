#include <nlohmann/json.hpp>

#include "gyre/core/io/strict_json.h"
#include "gyre/data/tokenizer/byte_bpe/tokenizer_json.h"

namespace gyre {

namespace {

using Json = nlohmann::ordered_json;

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

Json pre_tokenizer(const PreTokenizerOptions& options) {
  if (options.gpt2_words) return byte_level(true);
  Json parts = Json::array();
  for (const std::string& pattern : options.patterns)
    parts.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  parts.push_back(byte_level(false));
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

Json added_tokens(const ByteBpeModel& model) {
  Json tokens = Json::array();
  for (const AddedToken& token : model.added)
    tokens.push_back({{"id", token.id},
                      {"content", token.content},
                      {"single_word", false},
                      {"lstrip", token.lstrip},
                      {"rstrip", token.rstrip},
                      {"normalized", token.normalized},
                      {"special", token.special}});
  return tokens;
}

// Puts the token that begins a text before it, as gyre train and gyre generate do.
Json post_processor(const ByteBpeModel& model) {
  const auto sequence = [](const char* id) { return Json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
  const Json bos{{"SpecialToken", {{"id", model.bos}, {"type_id", 0}}}};
  int32_t id = 0;
  for (const AddedToken& token : model.added)
    if (token.content == model.bos) id = token.id;
  const Json special{{"id", model.bos}, {"ids", {id}}, {"tokens", {model.bos}}};
  return {{"type", "TemplateProcessing"},
          {"single", {bos, sequence("A")}},
          {"pair", {bos, sequence("A"), bos, sequence("B")}},
          {"special_tokens", {{model.bos, special}}}};
}

// Written piece by piece, because an ordered JSON object finds a key in linear time.
std::string vocab(const std::vector<std::string>& pieces) {
  std::string text(1, '{');
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (id > 0) text += ',';
    text.append(Json(pieces[id]).dump()).append(":").append(std::to_string(id));
  }
  return text += '}';
}

}  // namespace

std::string tokenizer_json(const ByteBpeModel& model) {
  const auto& pieces = model.pieces;
  Json merges = Json::array();
  for (const ByteBpeMerge& merge : model.merges)
    merges.push_back(Json::array({pieces[size_t(merge.left)], pieces[size_t(merge.right)]}));
  const Json head{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", added_tokens(model)},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", pre_tokenizer(model.pre_tokenizer)},
                  {"post_processor", post_processor(model)},
                  {"decoder", byte_level(true)}};
  const Json bpe{{"type", "BPE"},
                 {"dropout", nullptr},
                 {"unk_token", nullptr},
                 {"continuing_subword_prefix", nullptr},
                 {"end_of_word_suffix", nullptr},
                 {"fuse_unk", false},
                 {"byte_fallback", false},
                 {"ignore_merges", model.ignore_merges}};
  const auto open = [](const Json& json) {  // without the brace at its end
    std::string text = json.dump();
    text.pop_back();
    return text;
  };
  std::string text = open(head);
  text.append(",\"model\":").append(open(bpe)).append(",\"vocab\":").append(vocab(pieces));
  return text.append(",\"merges\":").append(merges.dump()).append("}}\n");
}

}  // namespace gyre
