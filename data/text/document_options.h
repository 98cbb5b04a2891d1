// The options of everything that reads text as documents: where documents end, how lines are joined, and which field of
// JSON lines is the text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/core/option_list.h"
#include "gyre/data/text/document_text.h"

namespace gyre {

// help: what the option says about other words that `documents` may be: "; none: ..".
Option documents_option(std::string* documents, const std::string& help,
                        const std::vector<std::string>& words = {"blank-line", "line", "whole"});
// line_ends: empty unless it is given. `default_text` says what applies then.
Option line_ends_option(std::optional<LineEnds>* line_ends, const std::string& default_text);
Option text_field_option(std::string* text_field);

}  // namespace gyre
