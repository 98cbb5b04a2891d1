// The progress of a training run, and points and periods at which logging, validation, saving or the end is due.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/option_values.h"

namespace gyre {

struct Progress {
  uint64_t updates = 0;
  uint64_t epoch = 0;  // finished epochs
  uint64_t batch = 0;  // finished global batches of the current epoch
  uint64_t target_tokens = 0;
  uint64_t source_tokens = 0;
  uint64_t sentences = 0;
};

// A point or a period in a run, in Marian's units: "30u" (or "30") updates, "20e" epochs, "1Gt" target tokens. K, M and
// G are multipliers.
struct Period {
  enum class Unit : uint8_t { updates, epochs, target_tokens };
  uint64_t amount = 0;  // 0: never
  Unit unit = Unit::updates;
  static Period parse(const std::string& text);  // throws a UsageError that quotes the text
  // The finished updates, finished epochs or target tokens of a run, according to the unit.
  uint64_t count(const Progress& progress) const;
  // True if a run has reached this point. Never true for an amount of 0.
  bool is_reached(const Progress& progress) const;
  // The number of updates until this point; 0 if that is unknown, for target tokens.
  uint64_t in_updates(uint64_t updates_per_epoch) const;
};

std::string to_string(const Period& period);

// The values of options (core/option_values.h).
inline void parse_value(const std::string& text, Period& value) { value = Period::parse(text); }
inline std::string toml_value(const Period& value) { return toml_string(to_string(value)); }
inline std::string option_text(const Period& value) { return to_string(value); }

}  // namespace gyre
