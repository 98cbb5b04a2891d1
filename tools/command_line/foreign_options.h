// Options that have the same name in Marian or fairseq but a different meaning.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line/option_table.h"

namespace gyre {

struct ForeignMeaning {
  std::string_view name;                  // "--max-tokens"
  std::string_view other_meaning;         // the other program's meaning: "in fairseq ..."
  std::string_view gyre_meaning;          // the meaning in Gyre
  std::string_view required_option = {};  // applies only to commands that also have this option
};

// The differences that are reported to the user. `gyre help configuration` lists these and others.
std::span<const ForeignMeaning> foreign_meanings();

// One line for each such option that the command line or its files set to a value other than the default.
std::vector<std::string> foreign_notes(const OptionTable& table);

}  // namespace gyre
