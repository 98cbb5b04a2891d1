// The options that training tasks and models declare, for what other programs call them and mean by them.
#pragma once

#include <vector>

#include "gyre/core/option_list.h"

namespace gyre {

// All of them, those that several structs declare more than once. They have no values to read: the structs are gone.
std::vector<Option> declared_options();

}  // namespace gyre
