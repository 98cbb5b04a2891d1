// The options of every command that reads text as documents: how lines are joined, and which field of JSON lines is the
// text.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line/option_table.h"

namespace gyre {

// help: what the row says about other words that `documents` may be: "none: ..".
void add_documents_row(OptionTable& table, std::string& documents, const std::string& help,
                       std::vector<std::string> words = {"blank-line", "line", "whole"});
// line_ends: empty unless it is given. `default_text` says what applies then.
void add_line_ends_row(OptionTable& table, std::string& line_ends, const std::string& default_text);
void add_text_field_row(OptionTable& table, std::string& text_field);

}  // namespace gyre
