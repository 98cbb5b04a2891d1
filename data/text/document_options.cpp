#include "gyre/data/text/document_options.h"

namespace gyre {

Option documents_option(std::string* documents, const std::string& help, const std::vector<std::string>& words) {
  OptionValue value(documents);
  value.read = [documents, words](const OptionValue::Words& given) {
    *documents = is_separator(given.back()) ? given.back() : chosen_word(given.back(), words);
  };
  return {"--documents",
          value,
          "END",
          "where documents end in text: blank-line; line; whole: with the file, every byte of which counts, including "
          "line ends; or the line that stands between them, such as '<|endoftext|>'" +
              help,
          {.completions = words, .values_called = {{"line", {"line-by-line"}}}}};
}

Option line_ends_option(std::optional<LineEnds>* line_ends, const std::string& default_text) {
  OptionValue value = one_of(line_ends, "");
  value.text = [line_ends] { return option_text(line_ends->value_or(LineEnds::none)); };
  return {"--line-ends", value, "",
          "what stands between the lines of a document: keep: their line end; space: a space; none: nothing, each line "
          "is encoded by itself; default: " +
              default_text};
}

Option text_field_option(std::string* text_field) {
  return {"--text-field", text_field, "KEY",
          "key of the text in JSON lines, each of which is a document; A.B: key B of the object at A"};
}

}  // namespace gyre
