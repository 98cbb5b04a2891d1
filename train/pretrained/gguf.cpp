#include "gyre/train/pretrained/gguf.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/gguf_vocabulary.h"
#include "gyre/models/hugging_face/gguf.h"
#include "gyre/models/position/position_table.h"

namespace gyre {
namespace {

int64_t longest_text(const EncoderOnly& model, int trained_length) {
  if (model.longest() != PositionEncoding::kUnlimited) return model.longest();
  return trained_length > 0 ? trained_length : model.config().position.get<PositionTableOptions>().max_positions;
}

void add_facts(const GgufOptions& options, std::vector<GgufKey>& keys) {
  if (!options.name.empty()) keys.push_back({"general.name", options.name});
  if (!options.license.empty()) keys.push_back({"general.license", options.license});
  if (!options.language.empty()) keys.push_back({"general.languages", std::vector<std::string>{options.language}});
}

}  // namespace

GgufReport export_gguf(const Path& file, const EncoderOnly& model, const Vocabulary& vocabulary,
                       const GgufOptions& options) {
  const EncoderOnlyConfig& config = model.config();
  const int64_t longest = longest_text(model, options.trained_length);
  std::vector<GgufKey> keys = gguf_keys(config, longest, options.type);
  const std::string architecture = std::get<std::string>(keys.front().value);
  add_facts(options, keys);
  GgufVocabulary tokenizer = gguf_vocabulary(vocabulary);
  if (config.attention.kind == AttentionKind::window && config.attention.window < longest)
    tokenizer.notes.push_back(concat("llama.cpp has no window: the context length in the file is the window, ",
                                     config.attention.window, " instead of ", longest, " tokens"));
  keys.insert(keys.end(), tokenizer.keys.begin(), tokenizer.keys.end());
  const auto is_other = [&](int32_t id) { return id != vocabulary.eos(); };
  const auto end = std::ranges::find_if(options.ends, is_other);
  if (end != options.ends.end()) keys.push_back({"tokenizer.ggml.eot_token_id", uint32_t(*end)});
  if (std::ranges::count_if(options.ends, is_other) > 1)
    tokenizer.notes.push_back(concat("of the tokens that end an answer, the file names </s> and ",
                                     vocabulary.piece(*end), "; the others are left out"));
  if (!options.chat_template.empty()) keys.push_back({"tokenizer.chat_template", options.chat_template});
  const std::vector<GgufTensor> tensors = gguf_tensors(model.parameters(), config, options.type);
  write_gguf(file, keys, tensors);
  return {
      concat(file.string(), ": ", architecture, " of ", model.parameters().elements(), " parameters in ",
             tensors.size(), " tensors, ", enum_name(options.type), ", a vocabulary of ", vocabulary.size(), " pieces"),
      tokenizer.notes};
}

}  // namespace gyre
