// Reads and writes tokenizer_config.json and the files beside it, in which Hugging Face stores the settings of a
// tokenizer next to its vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

inline constexpr int kTokenizerJsonDepth = 20;  // nesting of a tokenizer's files; added tokens are at depth three

// The beginning of messages about a file of a tokenizer.
std::string tokenizer_context(const Path& file);

// Returns do_lower_case of the file in this directory, or nullopt if there is no such file. Throws an Error for
// settings that bert_words does not support.
std::optional<bool> find_lower_case_setting(const Path& directory);

// Returns the settings in this directory as one object in the format of tokenizer_config.json, as transformers 5 joins
// them: special_tokens_map.json and added_tokens.json count unless tokenizer_config.json has added_tokens_decoder;
// config.json may have the "tokenizer_class" instead; chat_template.jinja becomes "chat_template". An empty object if
// there is no such file.
Json find_tokenizer_config(const Path& directory);

inline constexpr const char* kChatTemplateFile = "chat_template.jinja";
inline constexpr const char* kChatTemplate = "chat_template";  // key of the template in tokenizer_config.json
// The chat template of the settings, Jinja, or the one named "default" of several; empty if there is none.
std::string find_chat_template(const Json& config);

// Whether tokenizer_config.json has added_tokens_decoder, so that transformers 5 does not look for added tokens
// elsewhere.
bool lists_added_tokens(const Path& directory);

// Returns the token that `config` names under `key`, such as "eos_token"; empty if it names none. context: beginning of
// messages.
std::string find_token_setting(const Json& config, const char* key, const std::string& context);
std::optional<bool> find_flag_setting(const Json& config, const char* key, const std::string& context);

// The special tokens that the settings name, as texts or as objects, in the order in which transformers 5 adds them:
// those with names of their own after the usual ones, and then, for special_tokens, the others.
Json named_special_tokens(const Json& config, const std::string& context);
Json special_tokens(const Json& config, const std::string& context);

// Whether the settings name RoFormerTokenizer, which splits Chinese text into words before it looks for pieces.
// WordPiece does not.
bool has_roformer_tokenizer(const Path& directory);

// Writes the settings of a tokenizer, a BertTokenizer or RoFormerTokenizer. `longest`: maximum sequence length of the
// model in ids, if there is a model.
void write_tokenizer_config(const Path& directory, const std::string& tokenizer_class, bool lower_case,
                            std::optional<int64_t> longest = {});

}  // namespace gyre
