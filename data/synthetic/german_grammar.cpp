#include "gyre/data/synthetic/german_grammar.h"

namespace gyre::corpus {
namespace {

// Rows: nominative, accusative, dative, genitive; columns: masculine, feminine, neuter.
using Table = std::string_view[4][3];

constexpr Table kDefinite = {
    {"der", "die", "das"}, {"den", "die", "das"}, {"dem", "der", "dem"}, {"des", "der", "des"}};
constexpr Table kEin = {{"", "e", ""}, {"en", "e", ""}, {"em", "er", "em"}, {"es", "er", "es"}};
constexpr Table kAfterDer = {{"e", "e", "e"}, {"en", "e", "e"}, {"en", "en", "en"}, {"en", "en", "en"}};
constexpr Table kAfterEin = {{"er", "e", "es"}, {"en", "e", "es"}, {"en", "en", "en"}, {"en", "en", "en"}};

std::string_view look_up(const Table& table, Case c, Gender g) { return table[int(c)][int(g)]; }

}  // namespace

std::string_view definite_article(Case c, Gender g) { return look_up(kDefinite, c, g); }
std::string_view ein_ending(Case c, Gender g) { return look_up(kEin, c, g); }
std::string_view adjective_after_der(Case c, Gender g) { return look_up(kAfterDer, c, g); }
std::string_view adjective_after_ein(Case c, Gender g) { return look_up(kAfterEin, c, g); }

std::string_view adjective_after_numeral(Case c) {
  constexpr std::string_view kStrongPlural[] = {"e", "e", "en", "er"};
  return kStrongPlural[int(c)];
}

std::string dative_plural(std::string_view plural) {
  std::string text(plural);
  if (!text.ends_with('n') && !text.ends_with('s')) text += 'n';
  return text;
}

}  // namespace gyre::corpus
