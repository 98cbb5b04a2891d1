#include "tests/source_dir.h"

#include <cstdlib>

std::filesystem::path source_dir() {
  const char* moved = std::getenv("GYRE_SOURCE_DIR");
  return moved != nullptr ? moved : GYRE_SOURCE_DIR;
}
