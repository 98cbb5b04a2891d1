// Reads and writes tokenizer.json, the format of Hugging Face's package tokenizers, of byte-level BPE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/tokenizer/byte_bpe/added_tokens.h"
#include "gyre/data/tokenizer/byte_bpe/merges.h"
#include "gyre/data/tokenizer/byte_bpe/pre_tokenizer.h"

namespace gyre {

struct ByteBpeModel {
  std::vector<std::string> pieces{};  // by id: in GPT-2's notation of bytes, or the content of an added token
  std::vector<ByteBpeMerge> merges{};
  std::vector<AddedToken> added{};
  PreTokenizerOptions pre_tokenizer{};
  bool nfc = false;            // converts text to Unicode's normalization form C first
  bool ignore_merges = false;  // a word that is a piece is never split
  std::string bos{}, eos{};    // special tokens that the post-processor puts around a text; may be empty
};

// Reads the content of a tokenizer.json. `name` is the name of the file for messages. Throws an Error that names the
// field for anything that Gyre does not support. Settings that do not affect the ids of a text alone are ignored:
// truncation, padding, offsets.
ByteBpeModel parse_tokenizer_json(const std::string& name, std::string_view content);

// The patterns of the model have to be those of GPT-2 or one regular expression, as in a model that Gyre has trained.
std::string tokenizer_json(const ByteBpeModel& model);

}  // namespace gyre
