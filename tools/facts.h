// Facts for people or for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gyre {

// One JSON object, or a line `name: value` each.
void print_facts(const nlohmann::ordered_json& facts, bool json);

}  // namespace gyre
