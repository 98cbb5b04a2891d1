// Reads configuration files: the subset of TOML that options need, `name = value` lines without tables.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

struct ConfigEntry {
  std::string name;
  std::vector<std::string> values;  // the items of a list; "true" for a name without a value
  int line = 0;                     // line number of the name, from 1
};

// Values are strings in single or double quotes, bare words, and lists of both. Lists may span lines, and their
// brackets are optional. Throws UsageError with a message that begins with "FILE:LINE: ".
std::vector<ConfigEntry> read_config_file(const Path& file);

// The text as a quoted TOML string.
std::string toml_string(const std::string& text);

}  // namespace gyre
