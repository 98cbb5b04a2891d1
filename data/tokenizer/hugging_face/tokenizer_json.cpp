#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/byte_notation.h"

namespace gyre {

namespace {

// Applies tokenizer_config.json's add_prefix_space to the parts that have it.
void set_prefix_space(IndexedJson& part, bool add) {
  if (part.is_array())
    for (IndexedJson& each : part) set_prefix_space(each, add);
  if (!part.is_object()) return;
  const std::string type = part.value("type", IndexedJson()).is_string() ? part["type"].get<std::string>() : "";
  if (type == "ByteLevel") part["add_prefix_space"] = add;
  if (type == "Sequence" && part.contains("pretokenizers")) set_prefix_space(part["pretokenizers"], add);
}

// The added tokens get the ids that the library gives them: those of the model's pieces, or else the next ones.
class AddedTokensReader {
 public:
  AddedTokensReader(const std::string& context, TokenizerJson& tokenizer, bool has_bytes)
      : context_(context), tokenizer_(tokenizer), has_bytes_(has_bytes), next_(int32_t(tokenizer.model->size())) {
    tokenizer_.pieces = tokenizer_.model->pieces();
  }

  void read(const IndexedJson& added) {
    if (added.is_null()) return;
    if (!added.is_array()) throw Error(context_, "added_tokens: expected a list, got ", cut_for_message(added.dump()));
    for (size_t i = 0; i < added.size(); ++i) {
      JsonPart part(added[i], context_, concat("added_tokens[", i, "]"));
      add(part, token_of(part, added.size()));
    }
    std::stable_sort(tokenizer_.added.begin(), tokenizer_.added.end(),
                     [](const auto& a, const auto& b) { return a.special && !b.special; });
  }

  void change(const TokenizerChanges& changes) {
    std::map<uint64_t, IndexedJson> by_id;
    for (const auto& [id, token] : changes.added.items()) {
      uint64_t number = 0;
      const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), number);
      require(error == std::errc() && stop == id.data() + id.size() && token.is_object(), context_,
              "added_tokens_decoder: expected a token by its id, got ", cut_for_message(id));
      by_id[number] = token;
    }
    for (auto& [id, token] : by_id) {
      token["id"] = id;
      JsonPart part(token, context_, concat("added_tokens_decoder.", id));
      const AddedToken changed = token_of(part, tokenizer_.added.size() + by_id.size());
      const auto place = find(changed.content);
      if (place == tokenizer_.added.end()) {
        add(part, changed);
        continue;
      }
      part.expect(place->id == changed.id, "id", concat(place->id, ", as in tokenizer.json"), changed.id);
      place->lstrip = changed.lstrip;
      place->rstrip = changed.rstrip;
      place->single_word = changed.single_word;
    }
    for (const IndexedJson& special : changes.special) add_special(special);
    for (AddedToken& token : tokenizer_.added) token.stays_text = changes.splits_special && token.special;
  }

 private:
  void add_special(const IndexedJson& special) {
    IndexedJson token = special.is_object() ? special : IndexedJson{{"content", special}, {"normalized", false}};
    const IndexedJson content = token.value("content", IndexedJson());
    if (content.is_string() && find(content.get<std::string>()) != tokenizer_.added.end()) return;
    const int32_t known = content.is_string() ? tokenizer_.model->find(content.get<std::string>()) : -1;
    token["id"] = uint32_t(known >= 0 ? known : next_);
    JsonPart part(token, context_, "a special token of tokenizer_config.json");
    AddedToken read = token_of(part, tokenizer_.added.size() + 1);
    read.special = true;
    add(part, read);
  }

  AddedToken token_of(JsonPart& part, size_t count) const {
    AddedToken token{.content = part.text("content")};
    part.expect(!token.content.empty(), "content", "a text that is not empty", token.content);
    const IndexedJson& id = part.get("id");
    part.expect(id.is_number_unsigned() && id < tokenizer_.model->pieces().size() + count, "id",
                concat("a number below ", tokenizer_.model->pieces().size() + count), id);
    token.id = id.get<int32_t>();
    token.special = part.flag("special", false);
    token.normalized = part.flag("normalized", !token.special);
    token.lstrip = part.flag("lstrip", false);
    token.rstrip = part.flag("rstrip", false);
    token.single_word = part.flag("single_word", false);
    part.ignore({"__type"});
    part.finish();
    return token;
  }

  std::vector<AddedToken>::iterator find(const std::string& content) {
    return std::find_if(tokenizer_.added.begin(), tokenizer_.added.end(),
                        [&](const AddedToken& token) { return token.content == content; });
  }

  void add(JsonPart& part, AddedToken token) {
    const auto same = [&](const AddedToken& other) { return other.content == token.content || other.id == token.id; };
    const auto place = std::find_if(tokenizer_.added.begin(), tokenizer_.added.end(), same);
    part.expect(place == tokenizer_.added.end(), "content", "a token and an id that no other added token has",
                token.content);
    place_token(part, token);
    tokenizer_.added.push_back(std::move(token));
  }

  void place_token(JsonPart& part, const AddedToken& token) {
    const int32_t known = tokenizer_.model->find(token.content);
    const int32_t expected = known >= 0 ? known : next_;
    part.expect(token.id == expected, "id",
                concat(expected, " for ", quoted_for_message(token.content), ", as tokenizers assigns it"), token.id);
    if (known < 0) {
      next_ = expected + 1;
      if (size_t(expected) >= tokenizer_.pieces.size()) tokenizer_.pieces.resize(size_t(expected) + 1);
      part.expect(tokenizer_.pieces[size_t(expected)].empty(), "id", "an id that no other piece has", token.id);
      tokenizer_.pieces[size_t(expected)] = token.content;
      return;
    }
    const auto bytes = has_bytes_ ? notated_bytes(token.content) : std::nullopt;
    part.expect(!bytes || *bytes == token.content, "content", "a token that does not look like other bytes",
                token.content);
  }

  const std::string& context_;
  TokenizerJson& tokenizer_;
  bool has_bytes_;
  int32_t next_;
};

}  // namespace

int32_t TokenizerJson::find(const std::string& piece) const {
  for (const AddedToken& token : added)
    if (token.content == piece) return token.id;
  return model->find(piece);
}

TokenizerJson read_tokenizer_json(const std::string& name, std::string_view content, const TokenizerChanges& changes) {
  constexpr int kDeepest = 20;
  const std::string context = concat("[vocabulary] ", name, ": ");
  IndexedJson json = parse_strict_json(content, kDeepest, context, "the file");
  JsonPart file(json, context, "");
  file.ignore({"version", "truncation", "padding"});
  if (changes.add_prefix_space && json.contains("pre_tokenizer"))
    set_prefix_space(json["pre_tokenizer"], *changes.add_prefix_space);
  // The model first, because an unsupported one is the likely reason for whatever else is unsupported.
  PreTokenizer pre_tokenizer;
  {
    JsonPart model = file.part("model");
    const IndexedJson& type = model.get("type");
    model.expect(type.is_null() || type == "BPE" || type == "WordPiece" || type == "WordLevel", "type",
                 "BPE, WordPiece or WordLevel", type);
  }
  pre_tokenizer = PreTokenizer(file.get("pre_tokenizer"), context);
  const bool has_bytes = pre_tokenizer.ends_with_bytes();
  TokenizerJson read{.normalizer = Normalizer(file.get("normalizer"), context),
                     .pre_tokenizer = std::move(pre_tokenizer),
                     .model = TokenModel::read(file.part("model"), has_bytes),
                     .added = {},
                     .around = read_post_processor(file.get("post_processor"), context),
                     .decoder = Decoder(file.get("decoder"), context, has_bytes),
                     .pieces = {},
                     .own_added = 0,
                     .own_pieces = 0};
  AddedTokensReader added(context, read, has_bytes);
  added.read(file.get("added_tokens"));
  read.own_added = read.added.size();
  read.own_pieces = read.pieces.size();
  added.change(changes);
  file.finish();
  for (const auto* side : {&read.around.before, &read.around.after})
    for (const TemplateToken& token : *side)
      if (read.find(token.content) != token.id)
        file.refuse("post_processor",
                    concat("the id of ", quoted_for_message(token.content), ", ", read.find(token.content)), token.id);
  return read;
}

// A vocab.json can have a piece "model", whose id is a number.
bool is_tokenizer_json(std::string_view content) {
  constexpr std::string_view kSpace = " \t\r\n", kKey = "\"model\"";
  const size_t begin = content.find_first_not_of(kSpace);
  if (begin == content.npos || content[begin] != '{') return false;
  for (size_t at = content.find(kKey); at != content.npos; at = content.find(kKey, at + 1)) {
    const size_t colon = content.find_first_not_of(kSpace, at + kKey.size());
    if (colon == content.npos || content[colon] != ':') continue;
    const size_t value = content.find_first_not_of(kSpace, colon + 1);
    if (value != content.npos && content[value] == '{') return true;
  }
  return false;
}

}  // namespace gyre
