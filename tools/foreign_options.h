// Options that Marian or fairseq have under the same name and with another meaning.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/option_table.h"

namespace gyre {

struct ForeignMeaning {
  std::string_view name;   // "--max-tokens"
  std::string_view there;  // "fairseq: ..."
  std::string_view here;
  std::string_view beside = {};  // only in commands that have this option, too
};

// Those that a call is told of. `gyre help configuration` has them and others.
std::span<const ForeignMeaning> foreign_meanings();

// A line for each of them that the call or its files use, with a value other than the default.
std::vector<std::string> foreign_notes(const OptionTable& table);

}  // namespace gyre
