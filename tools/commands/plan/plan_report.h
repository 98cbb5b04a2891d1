// Prints a plan for ranks on CPUs, as a table or JSON.
#pragma once

#include <vector>

#include "gyre/core/io/json.h"
#include "tools/workload/plan.h"

namespace gyre {

struct PlanReportRow {
  PlanRow plan;
  double tokens = 0;      // tokens of all ranks, per step
  double efficiency = 0;  // tokens per second and rank, relative to one rank
};

Json to_json(const PlanReportRow& row);
void print_rows(const std::vector<PlanReportRow>& rows);

}  // namespace gyre
