// Profiles for people and programs: times in ms, GFLOP/s, and each row's share of the whole.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "autograd/profile.h"

namespace gyre {

// The rows of one step from those of several.
std::vector<ProfileRow> per_step(std::vector<ProfileRow> rows, int steps);

// limit_flops: a second, of the machine.
nlohmann::ordered_json profile_json(const std::vector<ProfileRow>& rows, double limit_flops);
void print_profile(const std::string& title, const std::vector<ProfileRow>& rows, double limit_flops);

}  // namespace gyre
