// Where a run stands, and the points and periods at which something is due.
#pragma once

#include <cstdint>
#include <string>

namespace gyre {

// A point or a period in a run, in Marian's units: "30u" (or "30") updates, "20e" epochs, "1Gt" target tokens; K, M, G
// multiply.
struct Period {
  enum class Unit : uint8_t { updates, epochs, target_tokens };
  uint64_t amount = 0;  // 0: never
  Unit unit = Unit::updates;
  static Period parse(const std::string& text);  // throws UsageError naming the text
  std::string text() const;
};

// Progress of a run, in all three units.
struct Progress {
  uint64_t updates = 0;
  uint64_t epoch = 0;  // finished epochs
  uint64_t batch = 0;  // global batches finished in the current epoch
  uint64_t target_tokens = 0;
  uint64_t source_tokens = 0;
  uint64_t sentences = 0;
  bool reached(const Period& p) const;
};

}  // namespace gyre
