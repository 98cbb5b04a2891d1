// Reads configuration files: the subset of TOML that options need. It has `name = value` lines and, after them, arrays
// of tables ([[name]]) of such lines.
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

// A table of an array: the lines after [[name]].
struct ConfigTable {
  std::string name;
  Path file;
  int line = 0;  // line number of the header [[name]]
  std::vector<ConfigEntry> entries;
};

struct ConfigFile {
  std::vector<ConfigEntry> entries;
  std::vector<ConfigTable> tables;
};

// Values are strings in single or double quotes, bare words, and lists of both. Lists may span lines, and their
// brackets are optional. A byte order mark at the beginning is ignored. Throws UsageError with a message that begins
// with "FILE:LINE: ".
ConfigFile read_config_file(const Path& file);

}  // namespace gyre
