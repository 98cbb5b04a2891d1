#include "gyre/data/text/choice_text.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/data/text_files.h"

using namespace gyre;

namespace {

// Questions that a test writes and reads. choice_test.sh compares prompts with those of lm-evaluation-harness.
struct WrittenQuestions {
  TemporaryDirectory directory;
  gyre::Path path;
  explicit WrittenQuestions(std::string_view text) : path(write_text(directory, "q.jsonl", text)) {}

  ChoiceText read(ChoiceFormat format = ChoiceFormat::by_fields, OnBadLine policy = OnBadLine::by_kind) const {
    return {path, format, policy};
  }
  std::string error(ChoiceFormat format = ChoiceFormat::by_fields) const {
    return error_of([&] { read(format); });
  }
};

}  // namespace

TEST_CASE("choice text: the fields of the first object tell the format") {
  const auto format_of = [](std::string_view line) { return WrittenQuestions(line).read().format(); };
  CHECK(format_of(R"({"ind": 1, "activity_label": "A", "ctx_a": "a", "ctx_b": "", "ctx": "a", "endings": ["b", "c"],)"
                  R"( "label": 1})") == ChoiceFormat::hellaswag);
  CHECK(format_of(R"({"ctx": "a", "endings": ["b", "c"], "label": "1"})") == ChoiceFormat::endings);
  CHECK(format_of(R"({"sentence": "a _ c", "option1": "b", "option2": "d", "answer": "2"})") ==
        ChoiceFormat::winogrande);
  CHECK(format_of(R"({"goal": "a", "sol1": "b", "sol2": "c", "label": 0})") == ChoiceFormat::piqa);
  CHECK(
      format_of(R"({"question_stem": "a", "choices": {"text": ["b", "c"], "label": ["A", "B"]}, "answerKey": "B"})") ==
      ChoiceFormat::openbookqa);
  CHECK(format_of(R"({"question": "a", "support": "s", "distractor1": "b", "distractor2": "c", "distractor3": "d",)"
                  R"( "correct_answer": "e"})") == ChoiceFormat::sciq);
  CHECK(format_of(R"({"question": "a", "passage": "p", "answer": true})") == ChoiceFormat::boolq);
  CHECK(format_of(R"({"question": "a", "choices": {"text": ["b", "c"], "label": ["A", "B"]}, "answerKey": "B"})") ==
        ChoiceFormat::arc);
  CHECK(format_of(R"({"question": "a", "choices": ["b", "c"], "answer": 1})") == ChoiceFormat::mmlu);
  CHECK(format_of(R"({"text": "a b"})") == ChoiceFormat::lambada);
}

TEST_CASE("choice text: the files of AI2 have the question and its choices in one object") {
  const WrittenQuestions file(
      "\xEF\xBB\xBF"
      R"({"id": "x", "question": {"stem": "Why?", "choices": [{"text": "so", "label": "1"},)"
      R"( {"text": "no", "label": "2"}]}, "answerKey": "2"})"
      "\r\n\r\n");
  const ChoiceText text = file.read();
  CHECK(text.describe() == file.path.string() + ": 1 question, skipped 1 empty (line 2) (arc)");
  REQUIRE(text.questions().size() == 1);
  const ChoiceQuestion& question = text.questions()[0];
  REQUIRE(question.choices.size() == 2);
  CHECK(question.choices[0].prompt == "Question: Why?\nAnswer:");
  CHECK(question.choices[0].answer == " so");
  CHECK(question.choices[0].characters == 2);
  CHECK(question.correct == 1);
  CHECK(question.example == "Question: Why?\nAnswer: no\n\n");
}

TEST_CASE("choice text: an answer is a number, a letter or a text") {
  const auto correct = [](const std::string& choices, const std::string& answer) {
    return WrittenQuestions(R"({"question": "a", "choices": )" + choices + R"(, "answer": )" + answer + "}")
        .read()
        .questions()[0]
        .correct;
  };
  const std::string words = R"(["x", "y", "z"])";
  CHECK(correct(words, "2") == 2);
  CHECK(correct(words, R"("2")") == 2);
  CHECK(correct(words, R"("B")") == 1);
  CHECK(correct(words, R"("z")") == 2);
  CHECK(correct(R"(["B", "A"])", R"("A")") == 1);  // a text comes before a letter
  CHECK(correct(R"(["2", "1", "0"])", R"("0")") == 2);
}

TEST_CASE("choice text: the last word and what remains of the text") {
  const ChoiceText text = WrittenQuestions("{\"text\": \"one  two\"}\n{\"text\": \"w\"}\n").read();
  const auto& [first, second] = std::pair(text.questions()[0], text.questions()[1]);
  REQUIRE(first.choices.size() == 1);
  CHECK(first.choices[0].prompt == "one ");
  CHECK(first.choices[0].answer == " two");
  CHECK(second.choices[0].prompt.empty());
  CHECK(second.choices[0].answer == " w");
}

TEST_CASE("choice text: errors name the file, the line and the field") {
  struct Row {
    std::string line, message;
    ChoiceFormat format = ChoiceFormat::by_fields;
  };
  const std::vector<Row> rows{
      {"[1]", "expected a JSON object, got [1]"},
      {"{\"a\": 1, \"b\": 2}", "expected the fields of a known format"},
      {"{\"a\"", "the line is not valid JSON"},
      {"{\"text\": \"\xFF\"}", "byte 11 (0xFF)"},
      {R"({"text": "a "})", "expected a text that ends with a word, got \"a \""},
      {R"({"text": 1})", "expected a text in \"text\", got 1"},
      {R"({"ctx": "a", "endings": ["b", "c"], "label": 2})", "expected 0 to 1 in \"label\", got 2"},
      {R"({"ctx": "a", "endings": ["b", "c"], "label": -1})", "expected 0 to 1 in \"label\", got -1"},
      {R"({"ctx": "a", "endings": ["b", "c"], "label": ""})", "expected 0 to 1 in \"label\", got \"\""},
      {R"({"ctx": "a", "endings": ["b", "c"]})", "expected a field \"label\", got none"},
      {R"({"ctx": "a", "endings": ["b"], "label": 0})", "expected at least two choices, got 1"},
      {R"({"ctx": "a", "endings": "bc", "label": 0})", "expected a list of texts in \"endings\", got \"bc\""},
      {R"({"sentence": "a", "option1": "b", "option2": "d", "answer": "1"})", "expected a _ in \"sentence\""},
      {R"({"sentence": "_", "option1": "b", "option2": "d", "answer": "3"})", "expected 1 to 2 in \"answer\""},
      {R"({"question": "a", "choices": {"text": ["b"], "label": []}, "answerKey": "A"})", "expected as many labels"},
      {R"({"question": "a", "choices": {"text": ["b"], "label": ["A"]}, "answerKey": "E"})",
       "expected one of \"A\" in \"answerKey\", got \"E\""},
      {R"({"question": "a", "choices": ["b", "c"], "answer": "d"})", "expected the number of one of 2 choices"},
      {R"({"question": "a"})", "expected a field \"choices\", got none", ChoiceFormat::mmlu}};
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const WrittenQuestions file(row.line + "\n");
    const std::string message = file.error(row.format);
    CAPTURE(message);
    CHECK(message.starts_with("[data] " + file.path.string() + ":1: "));
    CHECK(contains(message, row.message));
  }
  const WrittenQuestions other("{\"text\": \"a b\"}\n{\"ctx\": \"a\", \"endings\": [\"b\", \"c\"], \"label\": 0}\n");
  CHECK(contains(other.error(), ":2: expected a field \"text\", got none"));
  CHECK(other.read(ChoiceFormat::by_fields, OnBadLine::skip).questions().size() == 1);
  CHECK(contains(WrittenQuestions("\n").error(), "[choice] expected at least one question, got "));
}
