// Suggestions for mistyped names ("did you mean"), by edit distance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Restricted Damerau-Levenshtein distance: the number of insertions, deletions, substitutions and swaps of adjacent
// characters that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// The candidate that the name is a mistyped form of, the first of equally close ones; empty if there is none. Each word
// of a name may have one error, long ones two, and a name at most two: a name that has another word, such as
// --eval-interval for --log-interval, is another name. An error in a word of up to three letters must be a missing or
// an additional letter, and numbers must agree.
std::string closest_name(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean NAME?", or empty if no candidate is close enough.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace gyre
