// Compares templates, ids and masks of answers with Hugging Face's transformers (golden/make_chat.py).
#include "gyre/data/chat/chat_template.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "tests/data/golden_lines.h"
#include "tests/data/text_files.h"

using namespace gyre;

namespace {

const Json& expected_chat() {
  static const Json golden_file = Json::parse(read_file(golden("chat.json")));
  return golden_file;
}

const JsonVocabulary& chat_vocabulary() {
  static const JsonVocabulary vocabulary("tokenizer.json", expected_chat()["tokenizer"].dump(),
                                         {.config = expected_chat()["config"]});
  return vocabulary;
}

// As random_conversations() of make_chat.py draws them.
std::vector<Json> random_conversations() {
  const auto fragments = expected_chat()["fragments"].get<std::vector<std::string>>();
  GoldenRandom random;
  const auto message = [&](const char* role) {
    std::string text;
    for (uint64_t parts = 1 + random.below(6); parts > 0; --parts) text += fragments[random.below(fragments.size())];
    return Json{{"role", role}, {"content", text}};
  };
  std::vector<Json> conversations;
  for (int i = 0; i < 300; ++i) {
    auto messages = Json::array();
    if (random.below(3) == 0) messages.push_back(message("system"));
    for (uint64_t turns = 1 + random.below(3); turns > 0; --turns) {
      messages.push_back(message("user"));
      messages.push_back(message("assistant"));
    }
    conversations.push_back({{"messages", messages}});
  }
  return conversations;
}

std::string listed(const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

std::string line_of(const AnswerIds& answers) { return listed(answers.ids) + "|" + listed(answers.is_answer); }

// The hash of a line for each conversation.
template <class Line>
std::string hash_of(const Line& line) {
  std::vector<std::string> lines;
  for (const Json& conversation : random_conversations()) lines.push_back(line(conversation));
  return hash_lines(lines, [](const std::string& text) { return text; });
}

TEST_CASE("jinja: texts, marks and errors are those of transformers") {
  for (const Json& snippet : expected_chat()["snippets"]) {
    const std::string text = snippet["template"];
    CAPTURE(text);
    std::string error;
    try {
      const RenderedText rendered = JinjaTemplate("snippet", text).render(expected_chat()["variables"]);
      REQUIRE(snippet.contains("text"));
      CHECK(rendered.text == snippet["text"].get<std::string>());
      auto spans = Json::array();
      for (const TextRange& range : rendered.generated) spans.push_back({range.begin, range.end});
      CHECK(spans == snippet["spans"]);
    } catch (const Error& caught) {
      error = caught.what();
    }
    CHECK((error.empty() || contains(error, "[chat template] snippet:1: ")));
    CHECK(error.empty() != snippet.contains("error"));
  }
}

TEST_CASE("jinja: what is refused is named, with its line") {
  const auto refused = [](const std::string& text, const std::string& message) {
    CHECK_MESSAGE(contains(error_of([&] { JinjaTemplate("t", text).render(expected_chat()["variables"]); }), message),
                  text);
  };
  refused("a\n{% include 'b' %}", "t:2: there is no statement \"include\" here that Gyre knows");
  refused("{{ 1 |\n nofilter }}", "t:1: there is no filter nofilter that Gyre knows");
  refused("{{ n is prime }}", "t:1: there is no test prime that Gyre knows");
  refused("\n\n{{ strftime_now('%Y') }}", "t:3: there is no function strftime_now() that Gyre knows");
  refused("{{ messages }}", "t:1: expected text, got a list, which only | tojson writes");
  refused("{% break %}", "t:1: expected break in a loop");
  // No argument is ignored.
  refused("{{ tools | tojson(cls=1) }}", "t:1: filter tojson: there is no argument cls that Gyre knows");
  refused("{{ 'a' | upper(1) }}", "filter upper: expected at most 0 arguments, got 1");
  refused("{{ 'a'.startswith('a', 1) }}", "string method startswith(): expected at most 1 argument, got 2");
  refused("{{ 'a' | default('b', default_value='c') }}", "the argument default_value is given twice");
  refused("{{ dict([1]) }}", "function dict(): expected arguments with names");
  refused("{{ n is none(1) }}", "test none: expected at most 0 arguments, got 1");
  refused("{{ messages | map('upper') | list }}", "map: expected attribute='..', the only form that Gyre knows");
  refused("{% for i in range(2, missing) %}{% endfor %}", "expected an integer, got an undefined value");
  refused("{{ messages | selectattr('role', missing) | list }}", "expected a string, got an undefined value");
  refused("{% macro g(a) %}{% endmacro %}{{ g(missing, a=1) }}", "macro g(): the argument a is given twice");
  refused("{% macro f(a) %}{% endmacro %}{{ f(b=1) }}", "macro f(): there is no argument b that Gyre knows");
  // Lists are bounded as texts are.
  const std::string grows = "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ";
  refused(grows + "ns.x + ns.x %}{% endfor %}", "expected a value of at most");
  refused(grows + "[ns.x, ns.x] %}{% endfor %}", "expected a value of at most");
  refused(grows + "{'a': ns.x, 'b': ns.x} %}{% endfor %}", "expected a value of at most");
  const std::string mebibyte =
      "{% set ns = namespace(s='a') %}{% for i in range(20) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}";
  refused(mebibyte + "{% set ns.x = [{ns.s: 1}] %}{% for i in range(9) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
          "expected a value of at most");
  refused(mebibyte + "{{ range(99999) | tojson(separators=[ns.s, ':']) }}", "expected a text of at most");
  refused(mebibyte + "{{ range(99999) | join(ns.s) }}", "expected a text of at most");
  refused(mebibyte + "{{ ns.s | replace('a', ns.s) }}", "expected a text of at most");
  refused("{% set ns = namespace(x=[1]) %}{% for i in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}",
          "expected nesting of at most 100");
  CHECK(JinjaTemplate("t", "{{ (-4294967296 * 2147483648) // 3 }} {{ -7 % 3 }} {{ 7 // -2 }} {{ 7 % -2 }}")
            .render({})
            .text == "-3074457345618258603 2 -4 -1");
  refused("{% for i in range(9999999) %}{% endfor %}", "range: expected at most");
  refused("{% for i in range(99999) %}{% for j in range(99999) %}{{ j }}{% endfor %}{% endfor %}",
          "a template that ends");
  refused(
      "{% set s = 'ab' %}{% set ns = namespace(s=s) %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
      "expected a text of at most");
  refused("{{ " + std::string(500, '(') + "1" + std::string(500, ')') + " }}", "expected nesting of at most 100");
  refused("{{ " + std::string(5000, '-') + "1 }}", "expected a tag of at most 2000 words");
  refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "expected nesting of at most 100");
  refused("{% set a %}{% generation %}a{% endgeneration %}{% endset %}", "generation outside of macros");
  refused("\xff", "t: expected UTF-8");
  CHECK(JinjaTemplate("t", "{% macro f(a, b='x') %}{{ a }}{{ b }}{{ n }}{% endmacro %}{{ f(1) }}{{ f(b=2, a=3) }}")
            .render({{"n", 7}})
            .text == "1x7327");
}

TEST_CASE("chat template: ids and masks of conversations are those of transformers") {
  for (const Json& form : expected_chat()["templates"]) {
    CAPTURE(form["name"].get<std::string>());
    for (const char* text : {"marked", "plain"}) {  // the answers of a template without marks are found
      CAPTURE(text);
      const ChatTemplate chat("t", form[text].get<std::string>(), chat_vocabulary());
      CHECK(line_of(chat.encode(random_conversations()[0])) == form["first"].get<std::string>());
      CHECK(hash_of([&](const Json& conversation) { return line_of(chat.encode(conversation)); }) ==
            form["ids"].get<std::string>());
      CHECK(hash_of([&](Json conversation) {
              conversation["messages"].erase(conversation["messages"].size() - 1);
              return listed(chat.prompt(conversation));
            }) == form["prompts"].get<std::string>());
    }
  }
}

TEST_CASE("chat template: the end of an answer") {
  const auto end_of = [](const std::string& text) {
    const ChatTemplate::End end = ChatTemplate("t", text, chat_vocabulary()).end_of_answer();
    return end.id ? chat_vocabulary().piece(*end.id) : "text " + end.text;
  };
  CHECK(end_of(ChatTemplate::built_in("chatml")) == "<|im_end|>");
  CHECK(end_of(ChatTemplate::built_in("llama-3")) == "<|eot_id|>");
  CHECK(end_of(ChatTemplate::built_in("zephyr")) == "</s>");
  CHECK(end_of("{% for m in messages %}{{ m.role }}: {{ m.content }}\n### End\n{% endfor %}") == "text \n### End");
  CHECK(end_of("{% for m in messages %}{{ m.content }}{% endfor %}") == "text ");
  CHECK(end_of("{{ raise_exception('no') }}") == "text ");
}

TEST_CASE("chat template: built-in templates") {
  const Json conversation =
      parse_conversation(R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, )"
                         R"({"role": "assistant", "content": "a", "name": null}]})");
  const auto written = [&](const char* name, bool answers) {
    const AnswerIds ids = ChatTemplate(name, ChatTemplate::built_in(name), chat_vocabulary()).encode(conversation);
    std::string text;
    for (size_t i = 0; i < ids.ids.size(); ++i)
      if (!answers || ids.is_answer[i] == 1) text += chat_vocabulary().piece(ids.ids[i]);
    return text;
  };
  CHECK(written("chatml", false) ==
        "<|im_start|>systemĊs<|im_end|>Ċ<|im_start|>userĊu<|im_end|>Ċ<|im_start|>assistantĊa<|im_end|>Ċ");
  CHECK(written("chatml", true) == "a<|im_end|>");
  CHECK(written("llama-3", false) ==
        "<s><|start_header_id|>system<|end_header_id|>ĊĊs<|eot_id|><|start_header_id|>user"
        "<|end_header_id|>ĊĊu<|eot_id|><|start_header_id|>assistant<|end_header_id|>ĊĊa<|eot_id|>");
  CHECK(written("llama-3", true) == "a<|eot_id|>");
  CHECK(written("zephyr", false) == "<|system|>Ċs</s>Ċ<|user|>Ċu</s>Ċ<|assistant|>Ċa</s>Ċ");
  CHECK(written("zephyr", true) == "a</s>");
  CHECK(ChatTemplate::built_in("alpaca").empty());
}

TEST_CASE("chat template: an answer that later messages change has no mask") {
  const ChatTemplate chat(
      "t",
      "{% for m in messages %}{{ m.role }}:{% if m.role == 'assistant' and not loop.last %}(old)"
      "{% else %}{{ m.content }}{% endif %};{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}",
      chat_vocabulary());
  const Json one =
      parse_conversation(R"({"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]})");
  CHECK(chat.encode(one).is_answer.back() == 1);
  const Json two =
      parse_conversation(R"({"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}, )"
                         R"({"role": "user", "content": "u"}]})");
  CHECK(contains(error_of([&] { chat.encode(two); }), "message 2 is not written as the model would write it"));
}

TEST_CASE("chat template: vocabularies without tokens for it") {
  const TemporaryDirectory directory;
  const Path file = write_text(directory, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhi\nuser\nyes\n");
  const auto vocabulary = load_vocabulary(file);
  const ChatTemplate chat("t", "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}",
                          *vocabulary);
  const Json conversation = parse_conversation(
      R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]})");
  CHECK(line_of(chat.encode(conversation)) == "2 5 3 7 3|0 0 0 1 1");
}

TEST_CASE("completions: ids and masks") {
  const auto line = [](const std::string& prompt, const std::string& completion) {
    const AnswerIds ids = encode_completion(chat_vocabulary(), prompt, completion);
    CHECK(ids.ids.size() == ids.is_answer.size());
    std::string text;
    for (size_t i = 0; i < ids.ids.size(); ++i)
      text += chat_vocabulary().piece(ids.ids[i]) + (ids.is_answer[i] == 1 ? "+ " : " ");
    return text + (ids.is_shared ? "shared" : "");
  };
  CHECK(line("the cat", " sat") == "the Ġcat Ġsat+ </s>+ ");
  CHECK(line("the ", "cat") == "the Ġcat+ </s>+ shared");  // the space belongs to the token of the answer
  CHECK(line("", "the") == "<s> the+ </s>+ ");
  CHECK(line("the", "") == "the </s>+ ");
}

TEST_CASE("conversations that are refused") {
  const auto refused = [](const std::string& line) { return error_of([&] { parse_conversation(line); }); };
  CHECK(contains(refused("hello"), "the line"));
  for (const char* line : {"[]", R"({"text": "a"})", R"({"messages": []})", R"({"messages": "a"})"})
    CHECK(contains(refused(line), R"(expected {"messages": [{"role": "user", "content": ".."}, ..]}, got )"));
  for (const char* message : {R"("a")", R"({"role": "user"})", R"({"content": "a"})", R"({"role": 1, "content": "a"})",
                              R"({"role": "user", "content": 5})", R"({"role": "user", "content": null})"})
    CHECK(contains(refused(concat(R"({"messages": [)", message, "]}")),
                   R"(expected a message {"role": "user", "content": ".."}, got )"));
  CHECK(parse_conversation(
            R"({"messages": [{"role": "assistant", "tool_calls": [1], "content": null}]})")["messages"][0] ==
        Json{{"role", "assistant"}, {"tool_calls", {1}}});
}

}  // namespace
