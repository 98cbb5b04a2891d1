// Reads the samples of supervised fine-tuning from JSON lines: prompts with completions, or conversations.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/data/chat/chat_template.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/text/text_input.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

// The form of the samples of a language model.
//   text: documents, all of which is predicted.
//   completion: {"prompt": "..", "completion": ".."}, of which the completion and </s> are predicted.
//   chat: {"messages": [{"role": "user", "content": ".."}, ..]}, of which the answers are predicted.
enum class SampleFormat : uint8_t { text, completion, chat };
template <>
inline constexpr std::pair<SampleFormat, std::string_view> kEnumNames<SampleFormat>[] = {
    {SampleFormat::text, "text"}, {SampleFormat::completion, "completion"}, {SampleFormat::chat, "chat"}};

struct AnswerStore {
  Documents samples;
  uint64_t shared = 0;  // number of samples with AnswerIds::is_shared
};

// Reads the files into a store in memory of two sides: the ids of each sample, and AnswerIds::is_answer. chat: template
// of conversations; null for completions. Throws an Error if the policy makes a bad line an error, or if no sample
// remains.
AnswerStore read_answers(const Vocabulary& vocabulary, TextInputs files, const ChatTemplate* chat, OnBadLine policy);

}  // namespace gyre
