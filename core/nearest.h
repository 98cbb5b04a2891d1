// The known name closest to a mistyped one, for "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Edits (insert, delete, replace, swap of neighbours) between two words: Damerau-Levenshtein, restricted form.
int edit_distance(std::string_view a, std::string_view b);

// The candidate with the fewest edits, the first of equals; empty when even that one is more than a third rewritten.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean NAME?", or nothing when no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace gyre
