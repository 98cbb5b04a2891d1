#include "gyre/data/text/choice_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "gyre/core/error.h"
#include "gyre/data/text/labeled_text.h"
#include "gyre/data/text/letter_case.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

// ---- Fields of a record. The functions throw an Error that says what was expected and found. -----------------------

const IndexedJson& field_of(const IndexedJson& record, std::string_view name) {
  const auto found = record.find(name);
  require(found != record.end(), "expected a field \"", name, "\", got none");
  return *found;
}

std::string text_in(const IndexedJson& value, std::string_view name) {
  require(value.is_string(), "expected a text in \"", name, "\", got ", cut_for_message(value.dump()));
  return value.get<std::string>();
}

std::string text_field(const IndexedJson& record, std::string_view name) {
  return text_in(field_of(record, name), name);
}

std::vector<std::string> texts_in(const IndexedJson& list, std::string_view name) {
  require(list.is_array(), "expected a list of texts in \"", name, "\", got ", cut_for_message(list.dump()));
  std::vector<std::string> texts;
  for (const IndexedJson& item : list) texts.push_back(text_in(item, name));
  return texts;
}

// A number from `first` on, or its digits, as an index below `count`. nullopt for something else.
std::optional<size_t> index_in(const IndexedJson& value, size_t first, size_t count) {
  size_t number = 0;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  } else if (value.is_number_unsigned()) {
    number = value.get<size_t>();
  } else {
    return std::nullopt;
  }
  if (number < first || number - first >= count) return std::nullopt;
  return number - first;
}

size_t index_field(const IndexedJson& record, std::string_view name, size_t first, size_t count) {
  const IndexedJson& value = field_of(record, name);
  const auto index = index_in(value, first, count);
  require(index.has_value(), "expected ", first, " to ", first + count - 1, " in \"", name, "\", got ",
          cut_for_message(value.dump()));
  return *index;
}

// Choices with labels: {"text": [..], "label": [..]}, or a list of {"text": .., "label": ..}.
struct LabeledChoices {
  std::vector<std::string> texts, labels;

  explicit LabeledChoices(const IndexedJson& choices) {
    if (choices.is_object()) {
      texts = texts_in(field_of(choices, "text"), "text");
      labels = texts_in(field_of(choices, "label"), "label");
      require(texts.size() == labels.size(), "expected as many labels as choices, ", texts.size(), ", got ",
              labels.size());
      return;
    }
    require(choices.is_array(), "expected a list in \"choices\", got ", cut_for_message(choices.dump()));
    for (const IndexedJson& choice : choices) {
      require(choice.is_object(), "expected objects with a text and a label in \"choices\", got ",
              cut_for_message(choice.dump()));
      texts.push_back(text_field(choice, "text"));
      labels.push_back(text_field(choice, "label"));
    }
  }

  size_t index_of(const IndexedJson& record, std::string_view key) const {
    std::string label = text_field(record, key);
    label.erase(0, label.find_first_not_of(' '));
    const auto found = std::find(labels.begin(), labels.end(), label);
    require(found != labels.end(), "expected one of ", listed(labels), " in \"", key, "\", got ",
            quoted_for_message(label));
    return size_t(found - labels.begin());
  }
};

// The place of an answer among the choices: its index, its letter or its text.
size_t answer_of(const IndexedJson& record, const std::vector<std::string>& choices) {
  const IndexedJson& value = field_of(record, "answer");
  if (value.is_string()) {
    const auto& answer = value.get_ref<const std::string&>();
    const auto found = std::find(choices.begin(), choices.end(), answer);
    if (found != choices.end()) return size_t(found - choices.begin());
    if (answer.size() == 1 && answer[0] >= 'A' && size_t(answer[0] - 'A') < choices.size())
      return size_t(answer[0] - 'A');
  }
  const auto index = index_in(value, 0, choices.size());
  require(index.has_value(), "expected the number of one of ", choices.size(),
          " choices, from 0, its letter or its text in \"answer\", got ", cut_for_message(value.dump()));
  return *index;
}

// ---- Texts, by the rules of Python's str ----------------------------------------------------------------------------

std::u32string_view strip_left(std::u32string_view text) {
  const auto first = std::find_if_not(text.begin(), text.end(), is_space);
  return text.substr(size_t(first - text.begin()));
}

std::string stripped(const std::string& text) {
  const std::u32string all = code_points(text);
  return to_utf8(strip_right(strip_left(all)));
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

// Removes the marks of WikiHow's articles, which HellaSwag contains, such as "[step]".
std::string without_marks(const std::string& text) {
  std::string result = stripped(text);
  replace_all(result, " [title]", ". ");
  for (size_t begin = result.find('['); begin != std::string::npos; begin = result.find('[', begin)) {
    const size_t end = result.find_first_of("]\n", begin);
    if (end != std::string::npos && result[end] == ']') {
      result.erase(begin, end + 1 - begin);
    } else {
      ++begin;
    }
  }
  replace_all(result, "  ", " ");
  return result;
}

// ---- Formats --------------------------------------------------------------------------------------------------------

// Sets the choices of a question whose prompt does not depend on the choice.
void set_choices(ChoiceQuestion& question, const std::string& prompt, const std::vector<std::string>& answers,
                 size_t correct) {
  require(answers.size() >= 2, "expected at least two choices, got ", answers.size());
  for (const std::string& answer : answers)
    question.choices.push_back({prompt, " " + answer, count_characters(answer)});
  question.correct = correct;
}

void read_hellaswag(const IndexedJson& record, ChoiceQuestion& question) {
  std::vector<std::string> endings = texts_in(field_of(record, "endings"), "endings");
  for (std::string& ending : endings) ending = without_marks(ending);
  const std::string context = text_field(record, "ctx_a") + " " + capitalized(text_field(record, "ctx_b"));
  set_choices(question, without_marks(text_field(record, "activity_label") + ": " + context), endings,
              index_field(record, "label", 0, endings.size()));
}

void read_endings(const IndexedJson& record, ChoiceQuestion& question) {
  const std::vector<std::string> endings = texts_in(field_of(record, "endings"), "endings");
  set_choices(question, text_field(record, "ctx"), endings, index_field(record, "label", 0, endings.size()));
}

void read_winogrande(const IndexedJson& record, ChoiceQuestion& question) {
  const std::string sentence = text_field(record, "sentence");
  const size_t blank = sentence.find('_');
  require(blank != std::string::npos, "expected a _ in \"sentence\", got ", quoted_for_message(sentence));
  for (const char* option : {"option1", "option2"}) {
    const std::string prompt = sentence.substr(0, blank) + text_field(record, option);
    question.choices.push_back({prompt, " " + stripped(sentence.substr(blank + 1)), count_characters(prompt)});
  }
  question.correct = index_field(record, "answer", 1, 2);
}

void read_piqa(const IndexedJson& record, ChoiceQuestion& question) {
  set_choices(question, "Question: " + text_field(record, "goal") + "\nAnswer:",
              {text_field(record, "sol1"), text_field(record, "sol2")}, index_field(record, "label", 0, 2));
}

void read_openbookqa(const IndexedJson& record, ChoiceQuestion& question) {
  const LabeledChoices choices(field_of(record, "choices"));
  set_choices(question, text_field(record, "question_stem"), choices.texts, choices.index_of(record, "answerKey"));
}

void read_sciq(const IndexedJson& record, ChoiceQuestion& question) {
  const std::u32string support = code_points(text_field(record, "support"));
  set_choices(question, to_utf8(strip_left(support)) + "\nQuestion: " + text_field(record, "question") + "\nAnswer:",
              {text_field(record, "distractor1"), text_field(record, "distractor2"), text_field(record, "distractor3"),
               text_field(record, "correct_answer")},
              3);
}

void read_boolq(const IndexedJson& record, ChoiceQuestion& question) {
  const bool has_answer = record.contains("answer") && record.at("answer").is_boolean();
  set_choices(question, text_field(record, "passage") + "\nQuestion: " + text_field(record, "question") + "?\nAnswer:",
              {"no", "yes"}, has_answer ? size_t(record.at("answer").get<bool>()) : index_field(record, "label", 0, 2));
}

// The question is a text beside the choices, or an object {"stem": .., "choices": ..}.
void read_arc(const IndexedJson& record, ChoiceQuestion& question) {
  const IndexedJson& asked = field_of(record, "question");
  const LabeledChoices choices(field_of(asked.is_object() ? asked : record, "choices"));
  const std::string text = asked.is_object() ? text_field(asked, "stem") : text_in(asked, "question");
  set_choices(question, "Question: " + text + "\nAnswer:", choices.texts, choices.index_of(record, "answerKey"));
}

void read_mmlu(const IndexedJson& record, ChoiceQuestion& question) {
  const std::vector<std::string> choices = texts_in(field_of(record, "choices"), "choices");
  constexpr size_t kLetters = 26;
  require(choices.size() <= kLetters, "expected at most ", kLetters, " choices, got ", choices.size());
  std::string prompt = stripped(text_field(record, "question")) + "\n";
  std::vector<std::string> letters;
  for (const std::string& choice : choices) {
    letters.emplace_back(1, char('A' + letters.size()));
    prompt += letters.back() + ". " + choice + "\n";
  }
  set_choices(question, prompt + "Answer:", letters, answer_of(record, choices));
}

void read_mmlu_continuation(const IndexedJson& record, ChoiceQuestion& question) {
  const std::vector<std::string> choices = texts_in(field_of(record, "choices"), "choices");
  set_choices(question, "Question: " + stripped(text_field(record, "question")) + "\nAnswer:", choices,
              answer_of(record, choices));
}

void read_lambada(const IndexedJson& record, ChoiceQuestion& question) {
  const std::string text = text_field(record, "text");
  const size_t space = text.rfind(' '), end = space == std::string::npos ? 0 : space;
  const std::string word = text.substr(space == std::string::npos ? 0 : space + 1);
  require(!word.empty(), "expected a text that ends with a word, got ", quoted_for_message(text));
  question.choices.push_back({text.substr(0, end), " " + word, count_characters(word)});
}

struct ChoiceForm {
  ChoiceFormat format;
  std::vector<std::string_view> fields;  // fields that tell the format from those after it
  void (*read)(const IndexedJson& record, ChoiceQuestion& question);
};

const std::array kForms{
    ChoiceForm{ChoiceFormat::hellaswag, {"activity_label", "ctx_a", "ctx_b", "endings"}, read_hellaswag},
    ChoiceForm{ChoiceFormat::endings, {"ctx", "endings"}, read_endings},
    ChoiceForm{ChoiceFormat::winogrande, {"sentence", "option1", "option2"}, read_winogrande},
    ChoiceForm{ChoiceFormat::piqa, {"goal", "sol1", "sol2"}, read_piqa},
    ChoiceForm{ChoiceFormat::openbookqa, {"question_stem", "choices"}, read_openbookqa},
    ChoiceForm{ChoiceFormat::sciq, {"question", "distractor1", "correct_answer"}, read_sciq},
    ChoiceForm{ChoiceFormat::boolq, {"passage", "question"}, read_boolq},
    ChoiceForm{ChoiceFormat::arc, {"question", "answerKey"}, read_arc},
    ChoiceForm{ChoiceFormat::mmlu, {"question", "choices", "answer"}, read_mmlu},
    ChoiceForm{ChoiceFormat::lambada, {"text"}, read_lambada},
    ChoiceForm{ChoiceFormat::mmlu_continuation, {"question", "choices", "answer"}, read_mmlu_continuation}};

ChoiceFormat format_of(const IndexedJson& record) {
  for (const ChoiceForm& form : kForms) {
    const auto has = [&](std::string_view name) { return record.contains(name); };
    if (std::all_of(form.fields.begin(), form.fields.end(), has)) return form.format;
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : record.items()) names.push_back(name);
  throw Error("expected the fields of a known format, such as ctx, endings and label, or question, choices and answer ",
              "(gyre evaluate choice --help), got ", cut_for_message(listed(names)));
}

}  // namespace

ChoiceText::ChoiceText(const Path& file, ChoiceFormat format, OnBadLine policy) : format_(format) {
  TextFile text(file);
  report_.files = file.string();
  report_.unit = "question";
  report_.bytes = text.bytes();
  for (std::string_view line; text.next(line);) read_line(line, text.line());
  report_.require_clean(policy);
  report_.kept = questions_.size();
  require(!questions_.empty(), "[choice] expected at least one question, got ", report_.describe());
}

void ChoiceText::read_line(std::string_view line, uint64_t number) {
  const auto skip = [&](BadLine kind, const std::string& reason) {
    report_.skip(kind, number, concat(report_.files, ":", number, ": ", reason));
  };
  if (const auto bad = first_invalid_utf8(line)) return skip(BadLine::bad_utf8, name_byte(line, *bad));
  if (is_blank(line)) return skip(BadLine::empty, "a blank line");
  try {
    const IndexedJson record = parse_strict_json(line, kMaxJsonDepth, "", "the line");
    if (!record.is_object()) throw Error("expected a JSON object, got ", cut_for_message(line));
    const ChoiceFormat format = format_ == ChoiceFormat::by_fields ? format_of(record) : format_;
    const auto form = std::find_if(kForms.begin(), kForms.end(), [&](const auto& f) { return f.format == format; });
    ChoiceQuestion question{.line = number};
    form->read(record, question);
    const Choice& correct = question.choices[question.correct];
    // lm-evaluation-harness puts two spaces before the last word of an example.
    const char* const space = format == ChoiceFormat::lambada ? " " : "";
    question.example = correct.prompt + space + correct.answer + "\n\n";
    questions_.push_back(std::move(question));
    format_ = format;
  } catch (const Error& error) {
    skip(BadLine::bad_json, error.what());
  }
}

std::string ChoiceText::describe() const { return concat(report_.describe(), " (", enum_name(format_), ")"); }

}  // namespace gyre
