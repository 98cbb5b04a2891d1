// The files of tokenizers of the class BertTokenizer of transformers 5, which makes them from pieces and settings.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"

namespace gyre {

// The vocabulary of a vocab.txt, whose lines are the pieces. The settings are those beside the file. Throws an Error
// that names the file for a class of tokenizers that is not BERT's.
std::shared_ptr<const Vocabulary> read_bert_vocabulary(const Path& file, const std::string& content,
                                                       TokenizerSettings settings);

// The vocabulary of a tokenizer.json, `json` and its content. If the settings name a class of BERT's, they decide on
// lower case, accents and Chinese characters, and an Error names any other part that the class would replace.
std::shared_ptr<const Vocabulary> read_bert_tokenizer_json(const Path& file, nlohmann::json json, std::string content,
                                                           TokenizerSettings settings);

}  // namespace gyre
