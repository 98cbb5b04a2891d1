// Words of a line as Perl splits them: white space is Unicode's (White_Space, as \s matches in a decoded string).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gyre {

// Number of bytes of the white-space character at offset `at` of a UTF-8 text, or 0 if there is another character.
size_t whitespace_bytes(std::string_view text, size_t at);

struct LineWords {
  uint64_t words = 0;
  uint64_t longest = 0;  // characters (code points) of the longest word
};
LineWords measure_words(std::string_view text);

// Replaces each run of white space by one space and removes white space at both ends.
std::string squeeze_whitespace(std::string_view text);

// The form in which lines are compared with test sets: squeezed white space and Unicode's full case folding
// (CaseFolding.txt, statuses C and F: "Straße" equals "STRASSE"). The text must be valid UTF-8.
std::string fold_line(std::string_view text);

}  // namespace gyre
