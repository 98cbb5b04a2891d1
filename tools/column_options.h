// The options that say where texts and labels stand in tab-separated files, as command-line rows.
#pragma once

#include <optional>
#include <string>

#include "data/labelled_text.h"
#include "tools/option_table.h"

namespace gyre {

// What was given; the rest is as a format has it. A column is a name in the header line, or a number: from 0, or from
// the end, -1 the last.
struct ColumnOptions {
  std::optional<bool> header;
  std::optional<std::string> text, second_text, label;

  // `takes_pairs`: there may be a second text.
  void add_rows(OptionTable& table, bool takes_pairs);
  // Throws UsageError for a name where there is no header line.
  void apply(LabelledFormat& format) const;
};

}  // namespace gyre
