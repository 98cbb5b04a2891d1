#include "tools/options/document_rows.h"

namespace gyre {

void add_line_ends_row(OptionTable& table, std::string& line_ends, const std::string& default_text) {
  table.add_choice("--line-ends", line_ends, {"keep", "space", "none"},
                   "what stands between the lines of a document: keep: their line end; space: a space; none: nothing, "
                   "each line is encoded by itself; default: " +
                       default_text);
}

void add_text_field_row(OptionTable& table, std::string& text_field) {
  table.add("--text-field", text_field, "KEY",
            "key of the text in JSON lines, each of which is a document; A.B: key B of the object at A");
}

}  // namespace gyre
