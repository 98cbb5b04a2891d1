// The normalizers of a tokenizer.json, which change a text before it is split into words, as Hugging Face's package
// tokenizers applies them: BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence,
// Strip, StripAccents. Characters newer than the library's Unicode tables can differ.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/json_part.h"

namespace gyre {

class Normalizer {
 public:
  Normalizer() = default;  // changes nothing
  // Throws an Error that names the field for what Gyre does not support. json: null, or the normalizer.
  Normalizer(const nlohmann::json& json, const std::string& context);

  bool is_identity() const { return steps_.empty(); }
  // The text must be UTF-8. Thread-safe.
  std::string operator()(std::string_view text) const;

 private:
  using Step = std::function<std::string(std::string text)>;
  void read(JsonPart& part);
  std::vector<Step> steps_{};
};

}  // namespace gyre
