// The classes of transformers 5 that make a tokenizer from its pieces and settings. They replace the normalizer and the
// pre-tokenizer of a tokenizer.json by their own; other classes follow the file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

// Classes that make the same tokenizer. other: a class that Gyre does not know, or one that follows tokenizer.json.
enum class TokenizerFamily { other, bert, roformer, gpt2, gpt_neox, roberta, qwen2 };

// Whether the family has BERT's tokenizer: that of RoFormer differs by the words of Chinese only.
inline bool is_bert(TokenizerFamily family) {
  return family == TokenizerFamily::bert || family == TokenizerFamily::roformer;
}

// The tokenizer_class of the settings, without "Fast"; empty if they name none.
std::string tokenizer_class_of(const Json& config);
TokenizerFamily family_of_class(std::string_view tokenizer_class);
// Whether transformers 5 follows the tokenizer.json of a directory with this class.
bool follows_tokenizer_json(std::string_view tokenizer_class);
// The add_prefix_space that replaces the one of tokenizer.json; nullopt: tokenizer.json is followed.
std::optional<bool> prefix_space_setting(const Json& config, const std::string& context);

// The "model_type" of config.json in a directory. Empty if there is none.
std::string find_model_type(const Path& directory);
TokenizerFamily family_of_model_type(std::string_view model_type);

// The class with which transformers 5 reads a directory.
struct ClassOfTransformers {
  TokenizerFamily family = TokenizerFamily::other;
  bool follows_file = false;  // otherwise it replaces parts of tokenizer.json
  std::string name{};         // name of the class in messages
};
// Returns the class for the settings and the model type, which it takes instead of the named one for some types.
// has_bytes: whether tokenizer.json has a part of the type ByteLevel.
ClassOfTransformers class_of_transformers(const Json& config, std::string_view model_type, bool has_bytes);

// Adds the special tokens that the family has by default to the settings, where these do not name others.
void set_default_tokens(TokenizerFamily family, Json& config);
// The parts that the family makes; null: none. context: beginning of the message of an Error.
Json normalizer_of(TokenizerFamily family, const Json& config, const std::string& context);
Json pre_tokenizer_of(TokenizerFamily family, const Json& config, const std::string& context);

// A remark for the user if transformers 5 replaces a part of this tokenizer.json, of BPE, or takes another
// add_prefix_space than prefix_space_setting; otherwise empty.
std::string replaced_part_note(const IndexedJson& tokenizer, const Json& config, const ClassOfTransformers& theirs,
                               const std::string& context);
// A remark for the user if transformers 5 finds other added tokens in a text than Gyre; otherwise empty. config: with
// the default tokens of the class that it names. lists_added_tokens: that of tokenizer_config.json.
std::string added_tokens_note(const IndexedJson& tokenizer, const Json& config, const ClassOfTransformers& theirs,
                              bool lists_added_tokens, const std::string& context);

}  // namespace gyre
