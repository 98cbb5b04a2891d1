// Reads and writes tokenizer_config.json, in which Hugging Face stores the settings of a tokenizer next to its
// vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gyre/core/io/file.h"

namespace gyre {

// Returns do_lower_case of the file in this directory, or nullopt if there is no such file. Throws an Error for
// settings that bert_words does not support.
std::optional<bool> find_lower_case_setting(const Path& directory);

// Returns the token that the file in this directory names under `key`, such as "eos_token"; empty if it names none.
std::string find_token_setting(const Path& directory, const char* key);

// Returns whether the file names RoFormerTokenizer, which splits Chinese text into words before it looks for pieces.
// WordPiece does not.
bool has_roformer_tokenizer(const Path& directory);

// Writes the settings of a tokenizer, a BertTokenizer or RoFormerTokenizer. `longest`: maximum sequence length of the
// model in ids, if there is a model.
void write_tokenizer_config(const Path& directory, const std::string& tokenizer_class, bool lower_case,
                            std::optional<int64_t> longest = {});

}  // namespace gyre
