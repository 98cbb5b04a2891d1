// An append-only file of complete records, for logs. Logging never fails a run: a record that cannot be written (the
// disk is full) is kept in memory, one error is logged, and the record is written once there is space again.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "gyre/core/io/file.h"

namespace gyre {

class AppendedFile {
 public:
  // Throws an Error if the file cannot be opened or created. `context`: prefix of messages, such as "[metrics]".
  AppendedFile(Path path, std::string context);

  // Hands the record to the operating system before it returns, if possible: it then survives the end of the process.
  void append(std::string_view record);
  const Path& path() const { return path_; }

 private:
  bool write_pending();

  Path path_;
  std::string context_;
  std::ofstream file_;
  uint64_t written_bytes_ = 0;  // size of the written records in bytes
  std::string pending_;         // records that are not written yet
};

}  // namespace gyre
