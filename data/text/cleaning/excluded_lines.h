// The lines of test sets, which a training corpus must not contain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// Compares lines by fold_line(). Blank lines are ignored.
class ExcludedLines {
 public:
  struct Place {
    size_t file = 0;  // number of the first file that has the line
    uint64_t line = 0;
  };

  // remove_pipes: deletes every '|' of the files, for texts that have lost theirs. Throws Error if a file cannot be
  // read or is not UTF-8.
  ExcludedLines(std::vector<Path> files, bool remove_pipes);
  bool empty() const { return places_.empty(); }
  const std::vector<Path>& files() const { return files_; }
  // The place of an equal line. The text must be valid UTF-8. Thread-safe.
  std::optional<Place> find(std::string_view text) const;

 private:
  void read(size_t file);

  std::vector<Path> files_;
  bool remove_pipes_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace gyre
