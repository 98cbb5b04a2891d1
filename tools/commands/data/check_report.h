// Prints the results of gyre data check, as text or JSON.
#pragma once

#include <array>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/checking/check_data.h"
#include "tools/commands/data/check_cost.h"

namespace gyre {

inline constexpr std::array<double, 5> kPercentiles{0.5, 0.9, 0.95, 0.99, 1};
inline constexpr std::array<const char*, 5> kPercentileNames{"median", "p90", "p95", "p99", "longest"};

// One line for each finding, its examples below it, unless it is ok.
void print_findings(const std::vector<Finding>& findings);
void print_counts(const std::vector<Finding>& findings);  // the numbers of errors and warnings
uint64_t count_findings(const std::vector<Finding>& findings, Severity severity);
// An object with the numbers of errors and warnings and the findings.
Json findings_json(const std::vector<Finding>& findings);

// cost: null if it was not planned.
Json to_json(const DataCheck& check, const RunCost* cost);
// The findings, a table of lengths, and the numbers of warnings and errors.
void print_check(const DataCheck& check, uint64_t sample_lines);

}  // namespace gyre
