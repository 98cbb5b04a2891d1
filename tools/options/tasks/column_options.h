// Command-line options that select the text and label columns of tab-separated files.
#pragma once

#include <optional>
#include <string>

#include "gyre/data/text/labeled_text.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// The options that were given; for the others the format's own values apply. A column is a name from the header line
// or a number: counted from 0, or from the end with -1 as the last column.
struct ColumnOptions {
  std::optional<bool> header;
  std::optional<std::string> text, second_text, label;

  // `takes_pairs`: also adds the option for a second text.
  void add_rows(OptionTable& table, bool takes_pairs);
  // Throws UsageError for a column name if there is no header line.
  void apply(LabeledFormat& format) const;
};

}  // namespace gyre
