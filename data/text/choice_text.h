// Questions with several answers, and texts whose last word is asked for, in JSON lines of published benchmarks. Their
// prompts are those of lm-evaluation-harness.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_report.h"

namespace gyre {

// The fields of a question and its prompt, which the answers follow after a space.
//   by_fields          the first of the others, except mmlu_continuation, whose fields the first object has
//   hellaswag          activity_label, ctx_a, ctx_b, endings, label: "activity_label: ctx_a Ctx_b", cleaned
//   endings            ctx, endings, label: ctx
//   winogrande         sentence, option1, option2, answer: the sentence up to the option; its end follows
//   piqa               goal, sol1, sol2, label: "Question: goal\nAnswer:"
//   openbookqa         question_stem, choices, answerKey: question_stem
//   sciq               support, question, distractor1 to 3, correct_answer: "support\nQuestion: question\nAnswer:"
//   boolq              passage, question, answer or label: "passage\nQuestion: question?\nAnswer:" no, yes
//   arc                question, choices, answerKey: "Question: question\nAnswer:"
//   mmlu               question, choices, answer: "question\nA. choice\nB. ..\nAnswer:" A, B, ..
//   mmlu_continuation  as mmlu: "Question: question\nAnswer:", followed by the choices themselves
//   lambada            text: all words but the last, which is the answer
enum class ChoiceFormat : uint8_t {
  by_fields,
  hellaswag,
  endings,
  winogrande,
  piqa,
  openbookqa,
  sciq,
  boolq,
  arc,
  mmlu,
  mmlu_continuation,
  lambada
};
template <>
inline constexpr std::pair<ChoiceFormat, std::string_view> kEnumNames<ChoiceFormat>[] = {
    {ChoiceFormat::by_fields, "auto"},
    {ChoiceFormat::hellaswag, "hellaswag"},
    {ChoiceFormat::endings, "endings"},
    {ChoiceFormat::winogrande, "winogrande"},
    {ChoiceFormat::piqa, "piqa"},
    {ChoiceFormat::openbookqa, "openbookqa"},
    {ChoiceFormat::sciq, "sciq"},
    {ChoiceFormat::boolq, "boolq"},
    {ChoiceFormat::arc, "arc"},
    {ChoiceFormat::mmlu, "mmlu"},
    {ChoiceFormat::mmlu_continuation, "mmlu-continuation"},
    {ChoiceFormat::lambada, "lambada"}};

struct Choice {
  std::string prompt, answer;  // texts, of which the second is scored; it begins with a space
  // The characters of the choice in the file, by which acc_norm divides.
  size_t characters = 0;
};

struct ChoiceQuestion {
  uint64_t line = 0;
  std::vector<Choice> choices{};  // one if the last word is asked for, at least two otherwise
  size_t correct = 0;             // index of the correct choice
  std::string example{};          // the question with its answer and a blank line, as an example for others
};

class ChoiceText {
 public:
  // Reads the whole file. A line is bad if it is not UTF-8 or blank, or no JSON object with the fields of the format.
  // The policy decides which bad lines are skipped and which are errors. Also throws an Error if no question remains.
  // Errors name the file, the line, the expected and the actual content.
  ChoiceText(const Path& file, ChoiceFormat format, OnBadLine policy);

  ChoiceFormat format() const { return format_; }  // never by_fields
  const std::vector<ChoiceQuestion>& questions() const { return questions_; }
  std::string describe() const;  // "hellaswag.jsonl: 10042 questions (hellaswag)"

 private:
  void read_line(std::string_view line, uint64_t number);

  ChoiceFormat format_;
  std::vector<ChoiceQuestion> questions_;
  LineReport report_;
};

}  // namespace gyre
