// Configuration files: the part of TOML that options need, `name = value` lines without tables.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"

namespace gyre {

struct ConfigEntry {
  std::string name;
  std::vector<std::string> values;  // of a list its items; "true" where a name stands alone
  int line = 0;                     // where the name stands, from 1
};

// Values are strings in either kind of quotes, bare words, and lists of them, which may span lines; brackets around a
// list may be missing. Throws UsageError that begins with "FILE:LINE: ".
std::vector<ConfigEntry> read_config_file(const Path& file);

// The text as a string of such a file.
std::string toml_string(const std::string& text);

}  // namespace gyre
