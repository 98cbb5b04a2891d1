// The folder of the sources, which holds the golden files among others: the one that was compiled, unless
// GYRE_SOURCE_DIR in the environment names another (test programs that were taken to another machine).
#pragma once

#include <filesystem>

std::filesystem::path source_dir();
