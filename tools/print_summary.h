// Prints the results of a command, as text or as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gyre {

// Prints one JSON object, or one line `name: value` per entry.
void print_summary(const nlohmann::ordered_json& summary, bool json);

}  // namespace gyre
