#include "gyre/data/text/cleaning/cleaning_options.h"

#include "gyre/core/option_checks.h"

namespace gyre {

void CleaningOptions::validate(int sides) const {
  if (max_length > 0)
    expect(min_length <= max_length, "--min-length", concat("at most --max-length ", max_length), min_length);
  if (max_ratio != 0) expect_finite_at_least(1, "--max-ratio", max_ratio);
  near_duplicates.validate();
  expect_between<uint64_t>(2, 1000, "--exclude-words", excluded_words);
  if (sides == 2 && documents) throw UsageError("--documents needs a corpus without --target");
  if (sides == 2) return;
  if (max_ratio != 0) throw UsageError("--max-ratio needs --target");
  if (drop_same_text) throw UsageError("--same-text needs --target");
  if (drop_unpaired) throw UsageError("--unpaired needs --target");
}

}  // namespace gyre
