// Upper and lower case by the rules of Python's str: the full mappings of Unicode, in no particular language.
#pragma once

#include <string>

namespace gyre {

// `text`: valid UTF-8.
std::string upper_case(const std::string& text);
std::string lower_case(const std::string& text);
// The first character in title case, the others in lower case.
std::string capitalized(const std::string& text);

}  // namespace gyre
