// Prints a tape as a table or as JSON. `module` restricts the output to its ops and the leaves that they use; ""
// selects all ops.
#pragma once

#include <string>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/io/json.h"

namespace gyre {

// The dimensions as an array of numbers.
Json shape_json(const Shape& shape);

// Returns an object with nodes, modules (one for every prefix of the module paths) and totals.
Json tape_json(const std::vector<TapeRow>& rows, const std::string& module);

// Prints a line per node, then a line per module, up to `depth` path components below `module`.
void print_tape(const std::vector<TapeRow>& rows, const std::string& module, int depth);

// Prints the formula of each op once, in order of appearance.
void print_formulas(const std::vector<TapeRow>& rows, const std::string& module);

}  // namespace gyre
