// Entry point of libFuzzer. A reader may reject an input with an Error; any other failure is a bug.
#pragma once

#include <fstream>
#include <string_view>

#include "gyre/core/error.h"
#include "tests/temporary_directory.h"

// Reads one input. Defined by each target.
void read_input(std::string_view input);

// Writes the input to a file, for readers that take a path. Every call overwrites the same file.
inline const gyre::Path& as_file(std::string_view input) {
  static const TemporaryDirectory directory;
  static const gyre::Path path = directory / "input";
  std::ofstream(path, std::ios::binary) << input;
  return path;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  try {
    read_input({reinterpret_cast<const char*>(data), size});
  } catch (const gyre::Error&) {  // NOLINT(bugprone-empty-catch): the input was rejected
  }
  return 0;
}
