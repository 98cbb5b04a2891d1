// The target of an output path: a regular file is replaced when the new one is whole; a device, a pipe or a socket is
// written to directly.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace gyre {

class OutputTarget {
 public:
  // Follows symbolic links, also one to a file that does not exist yet. Throws for a directory, a socket of the file
  // system, a loop of links. Opening a named pipe waits for its reader.
  explicit OutputTarget(const Path& path);
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  bool is_stream() const { return descriptor_ >= 0; }
  const Path& file() const { return file_; }  // the regular file to replace or to create; empty for a stream
  int release();                              // the open descriptor of a stream, which the caller closes

 private:
  Path file_;
  int descriptor_ = -1;
};

// Whether the name is a regular file's, or free for one, links followed.
bool is_file_output(const Path& path);

// Throws UsageError where the output is one of the files that the same call reads, under any name. Missing files pass.
void require_no_input(const Path& output, const std::vector<Path>& inputs);

// For formats that are read back after they are written. "[token store] out.tok: expected a regular file to write to,
// ..."
void require_file_output(const Path& path, std::string_view topic);

}  // namespace gyre
