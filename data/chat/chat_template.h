// Chat models: conversations as the ids that a model reads, by the chat template of its tokenizer, with the ids that it
// learns to write; and prompts with their completions in the same form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/chat/jinja.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct AnswerIds {
  std::vector<int32_t> ids;
  // For each id, 1 if the model learns to write it, because it has text of an answer, else 0: assistant_masks of
  // transformers.
  std::vector<int32_t> is_answer;
  bool is_shared = false;  // whether an id has text of an answer and text before it
};

// A prompt and its completion, encoded as one text, behind the ids that the tokenizer puts before a text, and </s>.
AnswerIds encode_completion(const Vocabulary& vocabulary, const std::string& prompt, const std::string& completion);

// Reads {"messages": [{"role": "user", "content": ".."}, ..]}, also with "tools", from a line of JSON. Removes keys
// without a value, as transformers does. Throws an Error that says what is missing.
Json parse_conversation(std::string_view line);

std::vector<std::string> built_in_chat_templates();  // chatml, llama-3, zephyr

class ChatTemplate {
 public:
  // text: Jinja. name: for messages. The vocabulary must outlive the template. Throws an Error that names the line and
  // what Gyre does not know of it.
  ChatTemplate(const std::string& name, std::string_view text, const Vocabulary& vocabulary);

  // The text of a built-in template; empty for another name.
  static std::string built_in(std::string_view name);

  // The ids of a whole conversation. The answers are what {% generation %} marks or, in a template without it, what
  // the template writes for a message of the assistant behind the prompt for it, without white space at its end. Throws
  // an Error if the template refuses the conversation, or if the messages after an answer change how it is written.
  AnswerIds encode(const Json& conversation) const;
  // The ids of a conversation that the model is to continue with an answer.
  std::vector<int32_t> prompt(const Json& conversation) const;

  // The end that the template writes behind an answer: an id, a text, or neither if it cannot be told.
  struct End {
    std::optional<int32_t> id{};
    std::string text{};
  };
  End end_of_answer() const;

 private:
  RenderedText render(const Json& conversation, size_t messages, bool with_prompt) const;
  std::vector<TextRange> answers_in(const Json& conversation, const RenderedText& rendered) const;

  JinjaTemplate template_;
  const Vocabulary& vocabulary_;
  std::map<std::string, std::string> tokens_;  // bos_token and the like
};

}  // namespace gyre
