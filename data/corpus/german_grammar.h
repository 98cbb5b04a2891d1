// German inflection that follows rules: articles, adjective endings, the dative plural.
#pragma once

#include <string>
#include <string_view>

namespace gyre::corpus {

enum class Gender { masculine, feminine, neuter };
enum class Case { nominative, accusative, dative, genitive };

std::string_view definite_article(Case c, Gender g);  // singular: der, die, das, den, ...
std::string_view ein_ending(Case c, Gender g);        // of ein, mein, ihr, ...: "", "e", "en", "em", "er", "es"

// Singular endings after der (weak) and after ein (mixed), and the strong plural after a numeral: "drei rote Äpfel".
std::string_view adjective_after_der(Case c, Gender g);
std::string_view adjective_after_ein(Case c, Gender g);
std::string_view adjective_after_numeral(Case c);

// "Äpfel" -> "Äpfeln"; plurals in -n and -s stay.
std::string dative_plural(std::string_view plural);

}  // namespace gyre::corpus
