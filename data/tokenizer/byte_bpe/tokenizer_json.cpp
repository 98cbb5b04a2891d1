#include "gyre/data/tokenizer/byte_bpe/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/data/tokenizer/byte_bpe/byte_notation.h"

namespace gyre {

namespace {

using Json = nlohmann::json;
using Ids = std::unordered_map<std::string, int32_t>;

class TokenizerJson {
 public:
  TokenizerJson(const std::string& name, std::string_view content) : context_(concat("[vocabulary] ", name, ": ")) {
    constexpr int kDeepest = 20;
    json_ = parse_strict_json(content, kDeepest, context_, "the file");
  }

  ByteBpeModel read() {
    read_model(field(json_, "model"));
    read_added(field(json_, "added_tokens"));
    require_bytes();
    read_normalizer(field(json_, "normalizer"), "normalizer");
    read_pre_tokenizer(field(json_, "pre_tokenizer"));
    read_post_processor(field(json_, "post_processor"), "post_processor");
    read_decoder(field(json_, "decoder"), "decoder");
    return std::move(model_);
  }

 private:
  // Null for a missing field.
  static const Json& field(const Json& object, const char* name) {
    static const Json null;
    const auto place = object.find(name);
    return place == object.end() ? null : *place;
  }

  // Names the field, what Gyre supports there, and what was found.
  [[noreturn]] void refuse(const std::string& name, const std::string& expected, const Json& got) const {
    throw Error(context_, name, ": expected ", expected, ", got ",
                cut_for_message(got.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  void expect(bool is_good, const std::string& name, const std::string& expected, const Json& got) const {
    if (!is_good) refuse(name, expected, got);
  }

  bool flag(const Json& object, const std::string& name, const char* key, bool otherwise) const {
    const Json& value = field(object, key);
    expect(value.is_null() || value.is_boolean(), name + "." + key, "true or false", value);
    return value.is_null() ? otherwise : value.get<bool>();
  }

  std::string text(const Json& object, const std::string& name, const char* key) const {
    const Json& value = field(object, key);
    expect(value.is_string(), name + "." + key, "a text", value);
    return value.get<std::string>();
  }

  // The type of a part, such as the normalizer.
  std::string type_of(const Json& part, const std::string& name) const {
    expect(part.is_object(), name, "an object with a type", part);
    return text(part, name, "type");
  }

  // Calls visit(part, name) for the parts of a Sequence, or for a part that is none.
  template <class Visit>
  void for_each_part(const Json& part, const std::string& name, const char* list, const Visit& visit) const {
    if (type_of(part, name) != "Sequence") return visit(part, name);
    const Json& parts = field(part, list);
    expect(parts.is_array(), concat(name, ".", list), "a list", parts);
    for (size_t i = 0; i < parts.size(); ++i) visit(parts[i], concat(name, ".", list, "[", i, "]"));
  }

  void read_model(const Json& model);
  void read_pieces(const Json& vocab);
  void read_merges(const Json& merges);
  void read_added(const Json& added);
  void add(AddedToken token, const std::string& name);
  void require_bytes() const;
  void read_normalizer(const Json& normalizer, const std::string& name);
  void read_pre_tokenizer(const Json& pre_tokenizer);
  void read_byte_level(const Json& byte_level, const std::string& name);
  void read_split(const Json& split, const std::string& name);
  void read_post_processor(const Json& processor, const std::string& name);
  void read_template(const Json& processor, const std::string& name);
  void read_decoder(const Json& decoder, const std::string& name) const;

  std::string context_;
  Json json_;
  ByteBpeModel model_;
  Ids ids_;
};

void TokenizerJson::read_model(const Json& model) {
  expect(model.is_object(), "model", "an object", model);
  const Json& type = field(model, "type");  // early files have none
  expect(type.is_null() || type == "BPE", "model.type", "BPE", type);
  const Json& dropout = field(model, "dropout");
  expect(dropout.is_null() || dropout == 0, "model.dropout", "null", dropout);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json& affix = field(model, key);
    expect(affix.is_null() || affix == "", concat("model.", key), "null, as in byte-level BPE", affix);
  }
  // Pieces of bytes like <0x41> belong to BPE on characters. An unk_token has no use, because no byte is unknown.
  expect(!flag(model, "model", "byte_fallback", false), "model.byte_fallback", "false, as in byte-level BPE", true);
  model_.ignore_merges = flag(model, "model", "ignore_merges", false);
  read_pieces(field(model, "vocab"));
  read_merges(field(model, "merges"));
}

void TokenizerJson::read_pieces(const Json& vocab) {
  expect(vocab.is_object(), "model.vocab", "an object", vocab);
  std::vector<bool> taken(vocab.size());
  model_.pieces.resize(vocab.size());
  for (const auto& [piece, id] : vocab.items()) {
    const bool fits = id.is_number_unsigned() && id < taken.size() && !taken[id.get<size_t>()];
    if (!fits) refuse("model.vocab." + cut_for_message(piece), concat("a unique id below ", taken.size()), id);
    taken[id.get<size_t>()] = true;
    model_.pieces[id.get<size_t>()] = piece;
    ids_.emplace(piece, id.get<int32_t>());
  }
}

void TokenizerJson::read_merges(const Json& merges) {
  expect(merges.is_array(), "model.merges", "a list", merges);
  const auto id_of = [&](const std::string& piece, const Json& merge) {
    const auto place = ids_.find(piece);
    if (place == ids_.end()) refuse("model.merges", "pieces of model.vocab", merge);
    return place->second;
  };
  for (const Json& merge : merges) {
    std::string left, right;
    if (merge.is_string()) {  // until version 0.20 of tokenizers
      const auto& joined = merge.get_ref<const std::string&>();
      const size_t space = joined.find(' ');
      expect(space != std::string::npos, "model.merges", "two pieces with a space between them", merge);
      left = joined.substr(0, space);
      right = joined.substr(space + 1);
    } else {
      expect(merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(), "model.merges",
             "pairs of pieces", merge);
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    }
    model_.merges.push_back({id_of(left, merge), id_of(right, merge), id_of(left + right, merge)});
  }
}

void TokenizerJson::read_added(const Json& added) {
  if (added.is_null()) return;
  expect(added.is_array(), "added_tokens", "a list", added);
  for (size_t i = 0; i < added.size(); ++i) {
    const std::string name = concat("added_tokens[", i, "]");
    expect(added[i].is_object(), name, "an object", added[i]);
    AddedToken token{.content = text(added[i], name, "content")};
    expect(!token.content.empty(), name + ".content", "a text that is not empty", token.content);
    const Json& id = field(added[i], "id");
    expect(id.is_number_unsigned() && id < model_.pieces.size() + added.size(), name + ".id",
           concat("a number below ", model_.pieces.size() + added.size()), id);
    token.id = id.get<int32_t>();
    token.special = flag(added[i], name, "special", false);
    token.normalized = flag(added[i], name, "normalized", !token.special);
    token.lstrip = flag(added[i], name, "lstrip", false);
    token.rstrip = flag(added[i], name, "rstrip", false);
    expect(!flag(added[i], name, "single_word", false), name + ".single_word", "false", true);
    model_.added.push_back(std::move(token));
  }
  std::stable_sort(model_.added.begin(), model_.added.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const AddedToken& token : model_.added) add(token, "added_tokens");
}

// The tokens that the vocabulary does not have continue its ids.
void TokenizerJson::add(AddedToken token, const std::string& name) {
  const auto place = ids_.find(token.content);
  if (place == ids_.end()) {
    expect(size_t(token.id) == model_.pieces.size(), name,
           concat("an id of ", model_.pieces.size(), " for ", quoted_for_message(token.content)), token.id);
    ids_.emplace(token.content, token.id);
    return model_.pieces.push_back(std::move(token.content));
  }
  expect(place->second == token.id, name,
         concat("an id of ", place->second, " for ", quoted_for_message(token.content)), token.id);
  const auto bytes = notated_bytes(token.content);
  expect(!bytes || *bytes == token.content, name, "tokens that do not look like other bytes", token.content);
}

void TokenizerJson::require_bytes() const {
  for (const std::string& character : byte_characters())
    require(ids_.contains(character), context_, "model.vocab: expected pieces for all 256 bytes, found none for ",
            character);
}

void TokenizerJson::read_normalizer(const Json& normalizer, const std::string& name) {
  if (normalizer.is_null()) return;
  for_each_part(normalizer, name, "normalizers", [&](const Json& part, const std::string& part_name) {
    expect(type_of(part, part_name) == "NFC", part_name + ".type", "NFC or no normalizer", field(part, "type"));
    model_.nfc = true;
  });
}

void TokenizerJson::read_pre_tokenizer(const Json& pre_tokenizer) {
  const std::string expected = "Split, Digits and finally ByteLevel";
  bool is_done = false;
  expect(!pre_tokenizer.is_null(), "pre_tokenizer", expected, pre_tokenizer);
  for_each_part(pre_tokenizer, "pre_tokenizer", "pretokenizers", [&](const Json& part, const std::string& name) {
    const std::string type = type_of(part, name);
    expect(!is_done && (type == "Split" || type == "Digits" || type == "ByteLevel"), name + ".type", expected,
           field(part, "type"));
    is_done = type == "ByteLevel";
    if (is_done) {
      read_byte_level(part, name);
    } else if (type == "Split") {
      read_split(part, name);
    } else {
      model_.pre_tokenizer.patterns.emplace_back(flag(part, name, "individual_digits", false) ? R"(\p{N})"
                                                                                              : R"(\p{N}+)");
    }
  });
  expect(is_done, "pre_tokenizer", expected, pre_tokenizer);
}

void TokenizerJson::read_byte_level(const Json& byte_level, const std::string& name) {
  model_.pre_tokenizer.add_prefix_space = flag(byte_level, name, "add_prefix_space", true);
  model_.pre_tokenizer.gpt2_words = flag(byte_level, name, "use_regex", true);
}

void TokenizerJson::read_split(const Json& split, const std::string& name) {
  const Json& behavior = field(split, "behavior");
  expect(behavior == "Isolated", name + ".behavior", "Isolated", behavior);
  expect(!flag(split, name, "invert", false), name + ".invert", "false", true);
  const Json& pattern = field(split, "pattern");
  const Json& regex = pattern.is_object() ? field(pattern, "Regex") : pattern;
  expect(pattern.is_object() && regex.is_string(), name + ".pattern", "a Regex", pattern);
  model_.pre_tokenizer.patterns.push_back(regex.get<std::string>());
}

void TokenizerJson::read_post_processor(const Json& processor, const std::string& name) {
  if (processor.is_null()) return;
  for_each_part(processor, name, "processors", [&](const Json& part, const std::string& part_name) {
    const std::string type = type_of(part, part_name);
    expect(type == "ByteLevel" || type == "TemplateProcessing", part_name + ".type", "ByteLevel or TemplateProcessing",
           field(part, "type"));
    if (type == "TemplateProcessing") read_template(part, part_name);
  });
}

// "single" is a list of {"SpecialToken": {"id": "<s>", ...}} and one {"Sequence": ...}, the text.
void TokenizerJson::read_template(const Json& processor, const std::string& name) {
  const Json& single = field(processor, "single");
  const std::string expected = "a text with at most one special token on each side";
  expect(single.is_array(), name + ".single", expected, single);
  bool has_text = false;
  for (const Json& part : single) {
    expect(part.is_object(), name + ".single", expected, single);
    if (part.contains("Sequence")) {
      expect(!has_text, name + ".single", expected, single);
      has_text = true;
      continue;
    }
    const Json& special = field(part, "SpecialToken");
    std::string& side = has_text ? model_.eos : model_.bos;
    expect(special.is_object() && side.empty(), name + ".single", expected, single);
    side = text(special, name + ".single", "id");
  }
}

void TokenizerJson::read_decoder(const Json& decoder, const std::string& name) const {
  if (decoder.is_null()) return;
  for_each_part(decoder, name, "decoders", [&](const Json& part, const std::string& part_name) {
    expect(type_of(part, part_name) == "ByteLevel", part_name + ".type", "ByteLevel", field(part, "type"));
  });
}

}  // namespace

ByteBpeModel parse_tokenizer_json(const std::string& name, std::string_view content) {
  return TokenizerJson(name, content).read();
}

}  // namespace gyre
