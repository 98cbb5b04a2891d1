#include "gyre/data/chat/chat_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"

namespace gyre {
namespace {

struct BuiltIn {
  std::string_view name, text;
};

// They mark answers for transformers, too.
constexpr BuiltIn kBuiltIns[] = {{"chatml", R"({% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\n' }}
{%- if message['role'] == 'assistant' %}
{% generation %}
{{ message['content'] + '<|im_end|>' }}
{%- endgeneration %}
{% else %}
{{ message['content'] + '<|im_end|>' }}
{%- endif %}
{{- '\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- endif %})"},
                                 {"llama-3", R"({{ bos_token }}
{%- for message in messages %}
{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}
{%- if message['role'] == 'assistant' %}
{% generation %}
{{ message['content'] | trim + '<|eot_id|>' }}
{%- endgeneration %}
{% else %}
{{ message['content'] | trim + '<|eot_id|>' }}
{%- endif %}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})"},
                                 {"zephyr", R"({% for message in messages %}
{{ '<|' + message['role'] + '|>\n' }}
{%- if message['role'] == 'assistant' %}
{% generation %}
{{ message['content'] + eos_token }}
{%- endgeneration %}
{% else %}
{{ message['content'] + eos_token }}
{%- endif %}
{{- '\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|assistant|>\n' }}
{%- endif %})"}};

constexpr std::string_view kWhiteSpace = " \t\r\n";

size_t without_space_at_end(std::string_view text) { return text.find_last_not_of(kWhiteSpace) + 1; }

// Encodes a text in which the pieces <s> and </s> stand for themselves, as those of a tokenizer.json do in any case.
std::vector<int32_t> encode_with_ends(const Vocabulary& vocabulary, std::string_view text) {
  if (!vocabulary.has_ends()) return vocabulary.encode(text);
  const std::vector<int32_t> ends{vocabulary.eos(), vocabulary.bos()};
  const auto is_read = [&](int32_t id) { return vocabulary.encode(vocabulary.piece(id)) == std::vector{id}; };
  if (std::ranges::all_of(ends, is_read)) return vocabulary.encode(text);
  std::vector<int32_t> ids;
  while (!text.empty()) {
    size_t first = text.size();
    int32_t id = -1;
    for (const int32_t end : ends) {
      const std::string piece = vocabulary.piece(end);
      const size_t place = piece.empty() ? text.npos : text.find(piece);
      if (place >= first) continue;
      first = place;
      id = end;
    }
    const auto before = vocabulary.encode(text.substr(0, first));
    ids.insert(ids.end(), before.begin(), before.end());
    if (id >= 0) ids.push_back(id);
    text.remove_prefix(id < 0 ? first : first + vocabulary.piece(id).size());
  }
  return ids;
}

// The place of a byte of a text among its ids.
struct IdPlace {
  size_t number = 0;       // number of ids whose text is before the byte
  bool is_inside = false;  // whether the next id has text before the byte, too
};

// The ids up to the byte are those of the text up to it, unless an id has text on both sides.
IdPlace place_of(const Vocabulary& vocabulary, std::string_view text, const std::vector<int32_t>& ids, size_t byte) {
  const std::vector<int32_t> before = encode_with_ends(vocabulary, text.substr(0, byte));
  const auto differs = std::ranges::mismatch(before, ids);
  const auto common = size_t(differs.in1 - before.begin());
  if (common == before.size()) return {common, false};
  const std::span<const int32_t> rest = std::span(ids).subspan(common);
  const size_t bytes = vocabulary.decode(std::span(before).subspan(common)).size();
  size_t last = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    const size_t size = vocabulary.decode(rest.first(i + 1)).size();
    if (size > bytes) return {common + i, last < bytes};
    last = size;
  }
  return {ids.size(), false};
}

// As transformers does, counts an id as part of an answer if it has any text of it.
AnswerIds encode_answers(const Vocabulary& vocabulary, const std::string& text, std::span<const TextRange> answers) {
  AnswerIds encoded;
  encoded.ids = encode_with_ends(vocabulary, text);
  encoded.is_answer.resize(encoded.ids.size());
  for (const TextRange& answer : answers) {
    if (answer.begin == answer.end) continue;
    const IdPlace begin = place_of(vocabulary, text, encoded.ids, answer.begin),
                  end = place_of(vocabulary, text, encoded.ids, answer.end);
    encoded.is_shared = encoded.is_shared || begin.is_inside;
    for (size_t i = begin.number; i < std::min(encoded.ids.size(), end.number + size_t(end.is_inside)); ++i)
      encoded.is_answer[i] = 1;
  }
  return encoded;
}

}  // namespace

AnswerIds encode_completion(const Vocabulary& vocabulary, const std::string& prompt, const std::string& completion) {
  const TextRange answer{prompt.size(), prompt.size() + completion.size()};
  AnswerIds encoded = encode_answers(vocabulary, prompt + completion, std::span(&answer, 1));
  std::vector<int32_t> before = vocabulary.around_text().before;
  const bool has_first = !prompt.empty() && !encoded.ids.empty();
  if (before.empty() && !has_first) before = {vocabulary.bos()};  // the first id is never predicted
  encoded.ids.insert(encoded.ids.begin(), before.begin(), before.end());
  encoded.is_answer.insert(encoded.is_answer.begin(), before.size(), 0);
  encoded.ids.push_back(vocabulary.eos());
  encoded.is_answer.push_back(1);
  return encoded;
}

Json parse_conversation(std::string_view line) {
  Json given = parse_ordered_json(line, kMaxJsonDepth, "", "the line");
  const auto list = given.is_object() ? given.find("messages") : given.end();
  require(given.is_object() && list != given.end() && list->is_array() && !list->empty(),
          R"(expected {"messages": [{"role": "user", "content": ".."}, ..]}, got )", cut_for_message(json_text(given)));
  auto messages = Json::array();
  for (const Json& message : *list) {
    const auto text = [&](const char* key) { return message.contains(key) && message[key].is_string(); };
    const bool is_message = message.is_object() && text("role") &&
                            (text("content") || message.contains("tool_calls") ||
                             (message.contains("content") && message["content"].is_array()));
    require(is_message, R"(expected a message {"role": "user", "content": ".."}, got )",
            cut_for_message(json_text(message)));
    auto kept = Json::object();
    for (const auto& item : message.items())
      if (!item.value().is_null()) kept[item.key()] = item.value();
    // The older names of a reasoning, under which transformers copies it.
    for (const char* key : {"reasoning_content", "thinking", "reasoning"}) {
      if (!kept.contains(key)) continue;
      const Json reasoning = kept[key];
      if (!kept.contains("thinking")) kept["thinking"] = reasoning;
      kept["reasoning_content"] = reasoning;
      break;
    }
    messages.push_back(std::move(kept));
  }
  Json conversation{{"messages", std::move(messages)}};
  if (const auto tools = given.find("tools"); tools != given.end()) conversation["tools"] = *tools;
  return conversation;
}

std::vector<std::string> built_in_chat_templates() {
  std::vector<std::string> names;
  for (const BuiltIn& built_in : kBuiltIns) names.emplace_back(built_in.name);
  return names;
}

std::string ChatTemplate::built_in(std::string_view name) {
  const auto found = std::ranges::find(kBuiltIns, name, &BuiltIn::name);
  return found == std::end(kBuiltIns) ? "" : std::string(found->text);
}

ChatTemplate::ChatTemplate(const std::string& name, std::string_view text, const Vocabulary& vocabulary)
    : template_(name, text), vocabulary_(vocabulary) {
  const auto set = [&](const char* key, int id) {
    if (id >= 0) tokens_[key] = vocabulary.piece(id);
  };
  if (vocabulary.has_ends()) {
    if (names_bos(vocabulary)) set("bos_token", vocabulary.bos());
    set("eos_token", vocabulary.eos());
  }
  set("unk_token", vocabulary.unk());
  set("pad_token", vocabulary.pad());
}

RenderedText ChatTemplate::render(const Json& conversation, size_t messages, bool with_prompt) const {
  Json variables(tokens_);
  const Json& all = conversation.at("messages");
  variables["messages"] = Json(all.begin(), all.begin() + ptrdiff_t(messages));
  variables["tools"] = conversation.value("tools", Json());
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = with_prompt;
  return template_.render(variables);
}

std::vector<TextRange> ChatTemplate::answers_in(const Json& conversation, const RenderedText& rendered) const {
  if (template_.marks_generated()) return rendered.generated;
  std::vector<TextRange> answers;
  const Json& messages = conversation.at("messages");
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].at("role") != "assistant") continue;
    const std::string before = render(conversation, i, true).text;
    const std::string with_answer = i + 1 == messages.size() ? rendered.text : render(conversation, i + 1, false).text;
    const size_t end = without_space_at_end(with_answer);
    const bool is_kept = with_answer.starts_with(before) && end >= before.size() &&
                         rendered.text.starts_with(std::string_view(with_answer).substr(0, end));
    require(is_kept, "[chat template] ", template_.name(), ": message ", i + 1,
            " is not written as the model would write it behind the prompt for an answer, so that the answer cannot be "
            "told: mark it in the template with {% generation %} and {% endgeneration %}");
    answers.push_back({before.size(), end});
  }
  return answers;
}

AnswerIds ChatTemplate::encode(const Json& conversation) const {
  const RenderedText rendered = render(conversation, conversation.at("messages").size(), false);
  return encode_answers(vocabulary_, rendered.text, answers_in(conversation, rendered));
}

std::vector<int32_t> ChatTemplate::prompt(const Json& conversation) const {
  return encode_with_ends(vocabulary_, render(conversation, conversation.at("messages").size(), true).text);
}

ChatTemplate::End ChatTemplate::end_of_answer() const {
  constexpr std::string_view kAnswer = "Gyre's answer";
  const Json conversation{
      {"messages", {{{"role", "user"}, {"content", "a question"}}, {{"role", "assistant"}, {"content", kAnswer}}}}};
  std::string text;
  try {
    text = render(conversation, 2, false).text;
  } catch (const Error&) {
    return {};  // a template with other roles
  }
  const size_t place = text.rfind(kAnswer);
  if (place == text.npos) return {};
  text.erase(0, place + kAnswer.size());
  text.resize(without_space_at_end(text));
  if (text.empty()) return {};
  const std::vector<int32_t> ids = encode_with_ends(vocabulary_, text);
  if (ids.size() == 1) return {.id = ids.front()};
  return {.text = text};
}

}  // namespace gyre
