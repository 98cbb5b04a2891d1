// Suggestions for mistyped names ("did you mean"), by edit distance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Restricted Damerau-Levenshtein distance: the number of insertions, deletions, substitutions and swaps of adjacent
// characters that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// The candidate with the smallest edit distance, the first of equal ones. Empty if that distance is more than a third
// of the length of the name, but one edit is always allowed.
std::string closest_name(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean NAME?", or empty if no candidate is close enough.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace gyre
