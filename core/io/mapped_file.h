// Read-only memory maps of whole files. If another process truncates a mapped file, access to it raises SIGBUS, which
// would terminate the program without a message. The first map installs a signal handler that reports the file.
#pragma once

#include <cstddef>
#include <string_view>

#include "gyre/core/io/file.h"

namespace gyre {

class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const Path& path);  // throws Error unless `path` is a regular file that can be read
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  // Throws Error if the file is shorter than it was when it was mapped.
  void require_untruncated() const;

 private:
  Path path_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace gyre
