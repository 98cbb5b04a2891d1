// The words of a text in the form in which documents are compared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gyre {

// Returns a hash of each word of a UTF-8 text. A word is a run of letters, digits and their marks; case, punctuation
// and white space do not matter, as in the search for contaminated examples of GPT-3 (Brown et al. 2020, appendix C).
// Each character of a script that writes no spaces (Chinese, Japanese, Thai; line breaking classes ID, CJ and SA of
// Unicode) is a word of its own.
std::vector<uint64_t> compared_words(std::string_view text);

}  // namespace gyre
