#include "tools/options/document_rows.h"

#include "gyre/data/text/document_text.h"

namespace gyre {

void add_documents_row(OptionTable& table, std::string& documents, const std::string& help,
                       std::vector<std::string> words) {
  table.add_custom(
      "--documents", 1, 1, "END",
      "where documents end in text: blank-line; line; whole: with the file, every byte of which counts, including line "
      "ends; or the line that stands between them, such as '<|endoftext|>'" +
          help,
      [&documents, words](const std::vector<std::string>& values) {
        const std::string& end = values.back();
        documents = is_separator(end) ? end : OptionTable::chosen_word(end, words);
      },
      [&documents] { return toml_value(documents); });
  table.set_completions(words);
}

void add_line_ends_row(OptionTable& table, std::string& line_ends, const std::string& default_text) {
  table.add_choice("--line-ends", line_ends, {"keep", "space", "none"},
                   "what stands between the lines of a document: keep: their line end; space: a space; none: nothing, "
                   "each line is encoded by itself; default: " +
                       default_text);
  table.not_saved_if("line-ends", [&line_ends] { return line_ends.empty(); });  // the default is no word
}

void add_text_field_row(OptionTable& table, std::string& text_field) {
  table.add("--text-field", text_field, "KEY",
            "key of the text in JSON lines, each of which is a document; A.B: key B of the object at A");
}

}  // namespace gyre
