// A temporary directory for a test, removed by the destructor.
#pragma once

#include <stdlib.h>

#include <fstream>
#include <string>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gyre-test-XXXXXX").string();
    gyre::require(mkdtemp(pattern.data()) != nullptr, "[test] cannot create ", pattern);
    path_ = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  gyre::Path operator/(const std::string& name) const { return path_ / name; }
  const gyre::Path& path() const { return path_; }

 private:
  gyre::Path path_;
};

// Writes a file without waiting for the disk, unlike write_file(). Removes an earlier file first, because some file
// systems wait when a file is overwritten.
inline void put_file(const gyre::Path& path, std::string_view content) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << content;
}

// The base of tests that write files: TEST_CASE_FIXTURE(InDirectory, ..).
struct InDirectory {
  TemporaryDirectory directory;
};
