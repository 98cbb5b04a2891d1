// A temporary directory for a test, removed by the destructor.
#pragma once

#include <stdlib.h>

#include <string>

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
