#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"
#include "gyre/data/tokenizer/hugging_face/text_pattern.h"

namespace gyre {
namespace {

bool begins_with_word(std::string_view text) {
  UChar32 c = 0;
  int32_t at = 0;
  U8_NEXT_OR_FFFD(text.data(), at, int32_t(text.size()), c);
  return is_word_character(c);
}

bool ends_with_word(std::string_view text) {
  UChar32 c = 0;
  auto at = int32_t(text.size());
  U8_PREV_OR_FFFD(text.data(), 0, at, c);
  return is_word_character(c);
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : is_empty_(tokens.empty()) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.content.size() > b.content.size(); });
  for (AddedToken& token : tokens) tokens_[uint8_t(token.content.front())].push_back(std::move(token));
}

const AddedToken* AddedTokens::leading(std::string_view text) const {
  for (const AddedToken& token : tokens_[uint8_t(text.front())])
    if (text.starts_with(token.content)) return &token;
  return nullptr;
}

void AddedTokens::split(std::string_view text, const OnText& on_text, const OnToken& on_token) const {
  size_t plain = 0;  // beginning of the text that is not yet split; white space may put it after `at`
  for (size_t at = 0; !is_empty_ && at < text.size();) {
    const AddedToken* token = leading(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at += token->content.size();
    if (token->stays_text) continue;
    if (token->single_word && ((begin > 0 && ends_with_word(text.substr(0, begin))) ||
                               (end < text.size() && begins_with_word(text.substr(end)))))
      continue;
    if (token->lstrip) begin = std::max(plain, begin - trailing_space(text.substr(0, begin)));
    if (token->rstrip) end += leading_space(text.substr(end));
    if (plain < begin) on_text(text.substr(plain, begin - plain), plain == 0);
    on_token(token->id);
    plain = end;
  }
  if (plain < text.size()) on_text(text.substr(plain), plain == 0);
}

namespace {

using Pieces = std::vector<std::string>;

std::string concatenated(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// The byte of a piece like "<0x0A>".
std::optional<char> byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return std::nullopt;
  uint8_t byte = 0;
  const char* end = piece.data() + 5;
  const auto [stop, error] = std::from_chars(piece.data() + 3, end, byte, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return char(byte);
}

// Joins runs of bytes to characters. A run that is not UTF-8 becomes a replacement character per byte.
void join_bytes(Pieces& pieces) {
  Pieces result;
  std::string run;
  const auto end_run = [&] {
    if (run.empty()) return;
    if (!first_invalid_utf8(run)) {
      result.push_back(run);
    } else {
      for (size_t i = 0; i < run.size(); ++i) result.emplace_back("\uFFFD");
    }
    run.clear();
  };
  for (std::string& piece : pieces) {
    if (const auto byte = byte_of(piece)) {
      run += *byte;
      continue;
    }
    end_run();
    result.push_back(std::move(piece));
  }
  end_run();
  pieces = std::move(result);
}

// The clean-up of transformers for English.
std::string clean_up(std::string text) {
  constexpr const char* kSteps[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                       {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                       {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kSteps) text = TextPattern::literal(from).replace(text, to);
  return text;
}

void join_wordpieces(const std::string& prefix, bool cleans_up, Pieces& pieces) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::string& piece = pieces[i];
    if (i > 0) piece = piece.starts_with(prefix) ? piece.substr(prefix.size()) : " " + piece;
    if (cleans_up) piece = clean_up(std::move(piece));
  }
}

void strip_content(const std::string& content, size_t start, size_t stop, Pieces& pieces) {
  for (std::string& piece : pieces) {
    for (size_t i = 0; i < start && piece.starts_with(content); ++i) piece.erase(0, content.size());
    for (size_t i = 0; i < stop && piece.ends_with(content); ++i) piece.resize(piece.size() - content.size());
  }
}

size_t read_count(JsonPart& part, const char* key) {
  const auto& count = part.get(key);
  part.expect(count.is_number_unsigned() && count <= kMaxDimension, key, "a number", count);
  return count.get<size_t>();
}

std::string read_not_empty(JsonPart& part, const char* key) {
  std::string text = part.text(key);
  part.expect(!text.empty(), key, "a text that is not empty", text);
  return text;
}

}  // namespace

Decoder::Decoder(const IndexedJson& json, const std::string& context, bool has_bytes) {
  if (!json.is_null()) {
    std::vector<JsonPart> parts;
    JsonPart(json, context, "decoder").for_each("decoders", [&](JsonPart& part) { parts.push_back(part); });
    const bool is_byte_level = has_bytes && parts.size() == 1 && parts[0].type() == "ByteLevel";
    if (!is_byte_level)
      for (JsonPart& part : parts) read(part);
  } else if (!has_bytes) {
    steps_.emplace_back([](Pieces& pieces) {
      for (size_t i = 1; i < pieces.size(); ++i) pieces[i] = " " + pieces[i];
    });
  }
}

void Decoder::read(JsonPart& part) {
  const std::string type = part.type();
  if (type == "ByteLevel") {
    part.ignore({"add_prefix_space", "trim_offsets", "use_regex"});
    steps_.emplace_back([](Pieces& pieces) {
      std::string bytes;
      for (const std::string& piece : pieces) bytes += notated_bytes(piece).value_or(piece);
      pieces = {bytes};
    });
  } else if (type == "WordPiece") {
    steps_.emplace_back([prefix = part.text("prefix", "##"), cleans_up = part.flag("cleanup", true)](Pieces& pieces) {
      join_wordpieces(prefix, cleans_up, pieces);
    });
  } else if (type == "BPEDecoder") {
    steps_.emplace_back([suffix = TextPattern::literal(read_not_empty(part, "suffix"))](Pieces& pieces) {
      for (size_t i = 0; i < pieces.size(); ++i)
        pieces[i] = suffix.replace(pieces[i], i + 1 == pieces.size() ? "" : " ");
    });
  } else if (type == "Metaspace") {
    const std::string scheme = part.text("prepend_scheme", part.flag("add_prefix_space", true) ? "always" : "never");
    const TextPattern replacement = TextPattern::literal(read_not_empty(part, "replacement"));
    part.ignore({"add_prefix_space", "split", "str_rep"});
    steps_.emplace_back([replacement, drops_first = scheme != "never"](Pieces& pieces) {
      for (size_t i = 0; i < pieces.size(); ++i)
        pieces[i] = replacement.replace(pieces[i], i == 0 && drops_first ? "" : " ");
    });
  } else if (type == "ByteFallback") {
    steps_.emplace_back(join_bytes);
  } else if (type == "Fuse") {
    steps_.emplace_back([](Pieces& pieces) { pieces = {concatenated(pieces)}; });
  } else if (type == "Strip") {
    steps_.emplace_back(
        [content = read_not_empty(part, "content"), start = read_count(part, "start"),
         stop = read_count(part, "stop")](Pieces& pieces) { strip_content(content, start, stop, pieces); });
  } else if (type == "Replace") {
    steps_.emplace_back([pattern = TextPattern::read(part, "pattern"), content = part.text("content")](Pieces& pieces) {
      for (std::string& piece : pieces) piece = pattern.replace(piece, content);
    });
  } else {
    part.refuse("type", "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip or WordPiece", type);
  }
  part.finish();
}

std::string Decoder::operator()(std::vector<std::string> pieces) const {
  for (const Step& step : steps_) step(pieces);
  return concatenated(pieces);
}

namespace {

int32_t read_id(JsonPart& part, const std::string& key, const IndexedJson& id) {
  part.expect(id.is_number_unsigned() && id <= kMaxDimension, key, "an id", id);
  return id.get<int32_t>();
}

// "special_tokens" has {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}.
TemplateToken find_token(JsonPart& part, const std::string& content) {
  const auto& tokens = part.get("special_tokens");
  part.expect(tokens.is_object() && tokens.contains(content), "special_tokens", "the tokens of the template", tokens);
  const auto& token = tokens[content];
  const bool is_single = token.is_object() && token.contains("ids") && token["ids"].is_array() &&
                         token["ids"].size() == 1 && token.value("tokens", IndexedJson()) == IndexedJson{content};
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

TextTemplate read_post_processor(const IndexedJson& json, const std::string& context) {
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

namespace {

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
      if (place->normalized != changed.normalized) tokenizer_.renormalized.push_back(changed.content);
      place->normalized = changed.normalized;
      place->lstrip = changed.lstrip;
      place->rstrip = changed.rstrip;
      place->single_word = changed.single_word;
      place->stays_text = changed.special;
    }
    for (size_t i = 0; i < changes.special.size(); ++i) add_special(changes.special[i], i < changes.named);
    for (AddedToken& token : tokenizer_.added)
      token.stays_text = changes.splits_special && (token.special || token.stays_text);
  }

 private:
  void add_special(const IndexedJson& special, bool is_named) {
    IndexedJson token = special.is_object() ? special : IndexedJson{{"content", special}, {"normalized", false}};
    const IndexedJson content = token.value("content", IndexedJson());
    const auto place = content.is_string() ? find(content.get<std::string>()) : tokenizer_.added.end();
    if (place != tokenizer_.added.end()) {
      place->stays_text |= is_named;
      return;
    }
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

void set_prefix_space(IndexedJson& part, bool add) {
  if (part.is_array())
    for (IndexedJson& each : part) set_prefix_space(each, add);
  if (!part.is_object()) return;
  const std::string type = part.value("type", IndexedJson()).is_string() ? part["type"].get<std::string>() : "";
  if (type == "ByteLevel") part["add_prefix_space"] = add;
  if (type == "Sequence" && part.contains("pretokenizers")) set_prefix_space(part["pretokenizers"], add);
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
                     .renormalized = {},
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
