// Words that contain a white space other than U+0020, in which learn_bpe.py of subword-nmt merges differently: it
// searches for the pair in the text of the word, where such a space looks like the end of a symbol.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Whether the text contains a character for which Python's str.isspace() is true, other than U+0020.
bool contains_space(std::string_view text);

// Returns the symbols after the merge of left and right. Also merges a symbol that ends with white space and `left`, or
// begins with `right` and white space.
std::vector<std::string> merge_in_spaced_word(const std::vector<std::string>& symbols, const std::string& left,
                                              const std::string& right);

}  // namespace gyre
