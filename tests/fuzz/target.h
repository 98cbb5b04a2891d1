// What libFuzzer calls with its inputs: a reader may refuse them with an Error, and nothing else.
#pragma once

#include <fstream>
#include <string_view>

#include "core/error.h"
#include "tests/temporary_directory.h"

// Defined by every target.
void read_input(std::string_view input);

// The input as a file, for readers that take a path; always the same one.
inline const gyre::Path& as_file(std::string_view input) {
  static const TemporaryDirectory directory;
  static const gyre::Path path = directory / "input";
  std::ofstream(path, std::ios::binary) << input;
  return path;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  try {
    read_input({reinterpret_cast<const char*>(data), size});
  } catch (const gyre::Error&) {  // NOLINT(bugprone-empty-catch): it was refused
  }
  return 0;
}
