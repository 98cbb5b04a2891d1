// Helpers for the file functions of core/io: errors with the system's reason, and the status of an open file.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"

namespace gyre {

// Throws Error("[file] PATH: cannot open: No such file or directory"), with `what` for "open".
[[noreturn]] inline void fail(const Path& path, std::string_view what, int error = errno) {
  throw Error("[file] ", path.string(), ": cannot ", what, ": ", std::strerror(error));
}

inline Path parent_of(const Path& path) { return path.has_parent_path() ? path.parent_path() : Path("."); }

inline struct stat status_of(int descriptor, const Path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(path, "read the size");
  return status;
}

}  // namespace gyre
