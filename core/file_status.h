// What the files of core/ that open files share.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "core/file.h"

namespace gyre {

// "[file] PATH: cannot open: No such file or directory"
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
