// Converts the files of a tokenizer from before tokenizer.json to that format, as transformers does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

// Whether the content may be a vocab.json, an object with the ids of pieces.
bool is_vocab_json(std::string_view content);

// Converts vocab.json and the merges.txt beside it, of byte-level BPE. config: that of find_tokenizer_config, whose
// tokenizer_class, or else the model_type of config.json, decides on the words and on the special tokens, which are
// added to it; without both, they are those of GPT-2. RoBERTa's class adds <s> and </s>. Throws an Error that names the
// file for other classes and for malformed files.
std::string tokenizer_json_of_merges(const Path& vocab_json, Json& config);

}  // namespace gyre
