// Shows on standard error how much of a text has been read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "gyre/train/log/progress.h"

namespace gyre {

class TextProgress {
 public:
  explicit TextProgress(bool quiet) : quiet_(quiet) {}
  TextProgress(const TextProgress&) = delete;  // the callback refers to this object
  TextProgress& operator=(const TextProgress&) = delete;

  // Takes the bytes of the files that were read and all bytes of them, or 0 if those are unknown.
  std::function<void(uint64_t bytes, uint64_t all)> callback();
  void clear() { progress_.reset(); }

 private:
  bool quiet_;
  std::optional<WorkProgress> progress_;
};

}  // namespace gyre
