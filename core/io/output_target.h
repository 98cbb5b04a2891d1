// Classifies an output path: a regular file is replaced atomically; a device, a pipe or a socket is written to
// directly, as a stream.
#pragma once

#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

class OutputTarget {
 public:
  // Follows symbolic links, including a link to a file that does not exist yet. Throws Error for a directory, a socket
  // in the file system or a loop of links. Opening a named pipe waits for its reader.
  explicit OutputTarget(const Path& path);
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  bool is_stream() const { return descriptor_ >= 0; }
  const Path& file() const { return file_; }  // the regular file to replace or create; empty for a stream
  int release();                              // the open descriptor of a stream; the caller closes it

 private:
  Path file_;
  int descriptor_ = -1;
};

// True if the path, with links resolved, is a regular file or does not exist yet.
bool is_file_output(const Path& path);

// True if both paths, with links resolved, are one regular file or one file that does not exist yet.
bool is_same_output(const Path& a, const Path& b);

// Throws UsageError if the output is the same file as one of the inputs, under any name. Ignores missing files. `flag`
// is the option that names the output.
void require_no_input(const Path& output, const std::vector<Path>& inputs, std::string_view flag = "--output");

// Throws Error if the path is a stream, for formats that are read back after they are written. `topic` begins the
// message: "[token store] out.tok: expected a regular file to write to, ..".
void require_file_output(const Path& path, std::string_view topic);

}  // namespace gyre
