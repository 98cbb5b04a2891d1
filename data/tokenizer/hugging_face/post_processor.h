// The post-processor of a tokenizer.json, which puts tokens around a text: TemplateProcessing, BertProcessing,
// RobertaProcessing, ByteLevel (none), Sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/json_part.h"

namespace gyre {

struct TemplateToken {
  std::string content;
  int32_t id;
};

struct TextTemplate {
  std::vector<TemplateToken> before{}, after{};  // tokens before and after a text
};

// json: null, or the post-processor. Throws an Error that names the field for what Gyre does not support.
TextTemplate read_post_processor(const nlohmann::json& json, const std::string& context);

}  // namespace gyre
