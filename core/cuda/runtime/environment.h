// Switches in environment variables.
#pragma once

#include <cstdlib>
#include <cstring>

namespace gyre::cuda {

// True unless the variable is "0"; `otherwise` if it is not set or empty.
inline bool is_on(const char* variable, bool otherwise) {
  const char* value = std::getenv(variable);
  return value && *value != '\0' ? std::strcmp(value, "0") != 0 : otherwise;
}

}  // namespace gyre::cuda
