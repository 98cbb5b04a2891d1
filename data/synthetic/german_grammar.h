// Regular German inflection: articles, adjective endings and the dative plural.
#pragma once

#include <string>
#include <string_view>

namespace gyre::corpus {

enum class Gender { masculine, feminine, neuter };
enum class Case { nominative, accusative, dative, genitive };

std::string_view definite_article(Case c, Gender g);  // singular: der, die, das, den, ...
std::string_view ein_ending(Case c, Gender g);        // ending of ein, mein, ihr, ...: "", "e", "en", "em", "er", "es"

// Adjective endings: singular after der (weak) and ein (mixed), and plural after a numeral (strong): "drei rote Äpfel".
std::string_view adjective_after_der(Case c, Gender g);
std::string_view adjective_after_ein(Case c, Gender g);
std::string_view adjective_after_numeral(Case c);

// "Äpfel" -> "Äpfeln"; plurals in -n and -s do not change.
std::string dative_plural(std::string_view plural);

}  // namespace gyre::corpus
