// Prints the results of a command, as text or as JSON.
#pragma once

#include "gyre/core/io/json.h"

namespace gyre {

// Prints one JSON object, or one line `name: value` per entry.
void print_summary(const Json& summary, bool json);

}  // namespace gyre
