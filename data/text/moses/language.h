// Provides the languages that the Moses scripts are implemented for, and their nonbreaking prefixes.
#pragma once

#include <string_view>

namespace gyre {

enum class MosesLanguage { english, german };

// Parses "en" or "de". Throws UsageError for other names.
MosesLanguage parse_moses_language(std::string_view name);

namespace moses {

// always: words such as "Dr", after which a period does not end a sentence. before_number: words such as "No", for
// which that holds if a number follows.
enum class Prefix { none, always, before_number };

Prefix find_prefix(MosesLanguage language, std::u32string_view word);

}  // namespace moses

}  // namespace gyre
