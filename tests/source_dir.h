// Where the sources lie, for the goldens among them: where they were compiled, unless GYRE_SOURCE_DIR in the
// environment names another place (test programs that were taken to another machine).
#pragma once

#include <cstdlib>
#include <filesystem>

inline std::filesystem::path source_dir() {
  const char* moved = std::getenv("GYRE_SOURCE_DIR");
  return moved != nullptr ? moved : GYRE_SOURCE_DIR;
}
