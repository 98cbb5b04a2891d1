// Prints the results of gyre data check, as text or JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gyre/data/checking/check_data.h"
#include "tools/commands/data/check_cost.h"

namespace gyre {

// cost: null if it was not planned.
nlohmann::ordered_json to_json(const DataCheck& check, const RunCost* cost);
// One line for each finding, its examples below it, a table of lengths, and the numbers of warnings and errors.
void print_check(const DataCheck& check, uint64_t sample_lines);

uint64_t count_findings(const DataCheck& check, Severity severity);

}  // namespace gyre
