// A tape as a table for people, or as JSON for programs. `module`: only its ops and the leaves that they use; "" for
// all.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "autograd/tape_rows.h"

namespace gyre {

// nodes, modules (of every prefix of the paths in it), totals.
nlohmann::ordered_json tape_json(const std::vector<TapeRow>& rows, const std::string& module);

// A line per node; below them a line per module, for paths of at most `depth` names.
void print_tape(const std::vector<TapeRow>& rows, const std::string& module, int depth);

// Of each op once, in order of appearance.
void print_formulas(const std::vector<TapeRow>& rows, const std::string& module);

}  // namespace gyre
