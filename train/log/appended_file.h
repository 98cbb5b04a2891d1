// A file that only grows, by whole records. A log must not end a run: what cannot be written (the disk is full) is
// kept, told once, and written with the first record for which there is room again.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "core/file.h"

namespace gyre {

class AppendedFile {
 public:
  // An Error when it cannot be opened or created. `context` begins messages: "[metrics]".
  AppendedFile(Path path, std::string context);

  // Handed to the operating system before this returns, if it takes it: it survives the end of the process.
  void append(std::string_view record);
  const Path& path() const { return path_; }

 private:
  bool write_kept();

  Path path_;
  std::string context_;
  std::ofstream file_;
  uint64_t whole_ = 0;  // bytes of the records that are written
  std::string kept_;
};

}  // namespace gyre
