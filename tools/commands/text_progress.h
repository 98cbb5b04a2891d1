// Shows on standard error how much of a text has been read, and how many merges have been learned from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "gyre/train/log/console.h"

namespace gyre {

class TextProgress {
 public:
  explicit TextProgress(bool quiet) : quiet_(quiet) {}
  TextProgress(const TextProgress&) = delete;  // the callback refers to this object
  TextProgress& operator=(const TextProgress&) = delete;

  // Takes the bytes of the files that were read and all bytes of them, or 0 if those are unknown.
  std::function<void(uint64_t bytes, uint64_t all)> callback();
  // Takes the merges that were learned, and the most that there can be.
  std::function<void(uint64_t merges, uint64_t most)> merges();
  void clear() { progress_.reset(); }

 private:
  bool quiet_, is_of_merges_ = false;
  std::optional<WorkProgress> progress_;
};

// Reports the speed of commands that read text. Prints the size of the text that was read, the time, and the rate per
// thread to standard error.
void print_text_rate(uint64_t bytes, double seconds);

}  // namespace gyre
