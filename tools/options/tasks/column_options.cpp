#include "tools/options/tasks/column_options.h"

#include <charconv>

namespace gyre {

namespace {

Column column_of(const std::string& text, const char* flag, bool has_header) {
  Column column;
  const char* end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, column.number);
  if (number.ec == std::errc() && number.ptr == end) return column;
  if (!has_header) throw UsageError(flag, ": expected a number because there is no header line, got '", text, "'");
  return {text, 0};
}

}  // namespace

void ColumnOptions::add_rows(OptionTable& table, bool takes_pairs) {
  table.add("--text-column", text, "COLUMN",
            "column of the text: a name from the header line, or a number from 0; -1: the last");
  if (takes_pairs)
    table.add("--second-text-column", second_text, "COLUMN", "column of the second text, in the same form");
  table.add("--label-column", label, "COLUMN", "column of the label, in the same form");
  table.add("--header", header, "true|false", "whether the first line names the columns");
  table.set_completions({"true", "false"});
  table.add_switch("--no-header", "same as --header false", [this] { header = false; });
}

void ColumnOptions::apply(LabeledFormat& format) const {
  if (header) format.has_header = *header;
  if (text) format.text = column_of(*text, "--text-column", format.has_header);
  if (second_text) format.second_text = column_of(*second_text, "--second-text-column", format.has_header);
  if (label) format.label = column_of(*label, "--label-column", format.has_header);
}

}  // namespace gyre
