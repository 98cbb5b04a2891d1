// The decoder of a tokenizer.json, which joins pieces to a text, as Hugging Face's package tokenizers applies it:
// BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/json_part.h"

namespace gyre {

class Decoder {
 public:
  // json: null, or the decoder. has_bytes: whether pieces stand for bytes, which is then the default; otherwise pieces
  // are joined with spaces. Throws an Error that names the field for what Gyre does not support.
  Decoder(const nlohmann::json& json, const std::string& context, bool has_bytes);

  // Whether a text is the concatenation of the bytes that its pieces stand for.
  bool joins_bytes() const { return steps_.empty(); }
  std::string operator()(std::vector<std::string> pieces) const;

 private:
  using Step = std::function<void(std::vector<std::string>& pieces)>;
  void read(JsonPart& part);
  std::vector<Step> steps_{};
};

}  // namespace gyre
