// Read-only memory maps of whole files. A file that another process cuts short while it is mapped would end this one by
// SIGBUS without a word: the first map installs a handler that names the file first.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/file.h"

namespace gyre {

class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const Path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  // Throws when the file is no longer as long as it was.
  void require_whole() const;

 private:
  Path path_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace gyre
