// Messages name options as the user wrote them: libraries know only the first name of an option.
#pragma once

#include <functional>

#include "tools/command_line/option_table.h"

namespace gyre {

// Runs `command`. Rethrows an Error with the names by which options of the table were given: [--init-from] instead
// of [--pretrained-model].
int with_given_names(const OptionTable& table, const std::function<int()>& command);

}  // namespace gyre
