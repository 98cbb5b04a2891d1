// Prints profiles as tables or JSON: times in ms, GFLOP/s, and each row's share of the total.
#pragma once

#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/io/json.h"

namespace gyre {

// Averages the rows of several steps.
std::vector<ProfileRow> per_step(std::vector<ProfileRow> rows, int steps);

// limit_flops: the machine's limit in FLOP/s. predicted: rows whose times are shown beside the measured ones of the
// same name, if there are any.
Json profile_json(const std::vector<ProfileRow>& rows, double limit_flops,
                  const std::vector<ProfileRow>& predicted = {});
void print_profile(const std::string& title, const std::vector<ProfileRow>& rows, double limit_flops,
                   const std::vector<ProfileRow>& predicted = {});

}  // namespace gyre
