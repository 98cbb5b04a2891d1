// A configuration file that exists during a test.
#pragma once

#include <fstream>
#include <string>

#include "tests/temporary_directory.h"

struct TemporaryFile {
  TemporaryDirectory directory;
  gyre::Path path = directory / "file.toml";
  explicit TemporaryFile(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
};
