#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"

namespace gyre {

namespace {

Json added_tokens(const std::vector<AddedToken>& added) {
  Json tokens = Json::array();
  for (const AddedToken& token : added)
    tokens.push_back({{"id", token.id},
                      {"content", token.content},
                      {"single_word", token.single_word},
                      {"lstrip", token.lstrip},
                      {"rstrip", token.rstrip},
                      {"normalized", token.normalized},
                      {"special", token.special}});
  return tokens;
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

std::string open(const Json& json) {  // the text without its last brace
  std::string text = json.dump();
  text.pop_back();
  return text;
}

}  // namespace

Json byte_level(bool add_prefix_space, bool use_regex) {
  return {
      {"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

Json byte_level_words(const char* regex) {
  const Json split{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, byte_level(false, false)}}};
}

Json template_processing(const std::vector<TemplateToken>& before, const std::vector<TemplateToken>& after) {
  Json single = Json::array(), pair = Json::array(), specials = Json::object();
  const auto add = [&](const std::vector<TemplateToken>& tokens, Json& list, int type) {
    for (const TemplateToken& token : tokens) {
      list.push_back({{"SpecialToken", {{"id", token.content}, {"type_id", type}}}});
      specials[token.content] = {{"id", token.content}, {"ids", {token.id}}, {"tokens", {token.content}}};
    }
  };
  const auto sequence = [](const char* id, int type) { return Json{{"Sequence", {{"id", id}, {"type_id", type}}}}; };
  add(before, single, 0);
  single.push_back(sequence("A", 0));
  add(after, single, 0);
  pair = single;
  if (after.empty()) add(before, pair, 0);
  pair.push_back(sequence("B", after.empty() ? 0 : 1));
  add(after, pair, 1);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
}

std::string TokenizerJsonText::write() const {
  const Json head{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", added_tokens(added)},
                  {"normalizer", normalizer},
                  {"pre_tokenizer", pre_tokenizer},
                  {"post_processor", post_processor},
                  {"decoder", decoder}};
  std::string text = open(head);
  text.append(",\"model\":").append(open(model)).append(",\"vocab\":").append(vocab(pieces));
  if (!merges.is_null()) text.append(",\"merges\":").append(merges.dump());
  return text.append("}}\n");
}

}  // namespace gyre
