// Returns the source folder, which contains the golden files: the folder of the build, or the environment variable
// GYRE_SOURCE_DIR if it is set, for test programs that were copied to another machine.
#pragma once

#include <filesystem>

std::filesystem::path source_dir();
