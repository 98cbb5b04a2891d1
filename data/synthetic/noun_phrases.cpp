#include "gyre/data/synthetic/noun_phrases.h"

#include <string>

#include "gyre/data/synthetic/numbers_english.h"
#include "gyre/data/synthetic/numbers_german.h"

namespace gyre::corpus {
namespace units {

// Masculine and neuter units keep their singular form after a number.
const Noun kGram{"gram", "grams", "Gramm", Gender::neuter, "Gramm"};
const Noun kKilo{"kilo", "kilos", "Kilo", Gender::neuter, "Kilo"};
const Noun kLiter{"litre", "litres", "Liter", Gender::masculine, "Liter"};
const Noun kCentimeter{"centimetre", "centimetres", "Zentimeter", Gender::masculine, "Zentimeter"};
const Noun kMeter{"metre", "metres", "Meter", Gender::masculine, "Meter"};
const Noun kKilometer{"kilometre", "kilometres", "Kilometer", Gender::masculine, "Kilometer"};
const Noun kMinute{"minute", "minutes", "Minute", Gender::feminine, "Minuten"};
const Noun kHour{"hour", "hours", "Stunde", Gender::feminine, "Stunden"};
const Noun kDay{"day", "days", "Tag", Gender::masculine, "Tage"};
const Noun kWeek{"week", "weeks", "Woche", Gender::feminine, "Wochen"};
const Noun kMonth{"month", "months", "Monat", Gender::masculine, "Monate"};
const Noun kYear{"year", "years", "Jahr", Gender::neuter, "Jahre"};
const Noun kDegree{"degree", "degrees", "Grad", Gender::masculine, "Grad"};

}  // namespace units

namespace money {

const Noun kEuro{"euro", "euros", "Euro", Gender::masculine, "Euro"};
const Noun kCent{"cent", "cents", "Cent", Gender::masculine, "Cent"};
const Noun kDollar{"dollar", "dollars", "Dollar", Gender::masculine, "Dollar"};
const Noun kPound{"pound", "pounds", "Pfund", Gender::neuter, "Pfund"};
const Noun kFranc{"franc", "francs", "Franken", Gender::masculine, "Franken"};
const Noun kCrown{"crown", "crowns", "Krone", Gender::feminine, "Kronen"};

}  // namespace money

namespace {

const Noun kBottle{"bottle", "bottles", "Flasche", Gender::feminine, "Flaschen"};
const Noun kGlass{"glass", "glasses", "Glas", Gender::neuter, "Gläser"};
const Noun kCup{"cup", "cups", "Tasse", Gender::feminine, "Tassen"};

struct Content {
  Phrase name;
  uint32_t kind;
};
const Content kContents[] = {
    {{"milk", "Milch"}, kDrink},           {{"water", "Wasser"}, kDrink},     {{"tea", "Tee"}, kDrink},
    {{"coffee", "Kaffee"}, kDrink},        {{"sugar", "Zucker"}, kGroceries}, {{"flour", "Mehl"}, kGroceries},
    {{"rice", "Reis"}, kGroceries},        {{"cheese", "Käse"}, kGroceries},  {{"potatoes", "Kartoffeln"}, kGroceries},
    {{"cherries", "Kirschen"}, kGroceries}};

std::string with_article(const std::string& english) {
  const bool vowel = std::string_view("aeiou").find(english.front()) != std::string_view::npos || english == "hour";
  return (vowel ? "an " : "a ") + english;
}

// The amount n + 1/2 in the accusative; n >= 0.
Phrase and_a_half(uint32_t n, const Noun& unit) {
  if (n == 0) {
    const std::string half = "ein" + std::string(ein_ending(Case::accusative, unit.gender)) + " halb" +
                             std::string(adjective_after_ein(Case::accusative, unit.gender));
    return {"half " + with_article(std::string(unit.english)), words({half, unit.german})};
  }
  const std::string german = (n == 1 ? "ein" : german_cardinal(n)) + "einhalb";
  return {words({english_cardinal(n), "and a half", unit.english_plural}), words({german, unit.german_plural})};
}

Phrase portion(Draw& draw, uint32_t kinds) {
  const Content& content =
      draw.pick_if(std::span<const Content>(kContents), [&](const Content& c) { return c.kind & kinds; });
  Phrase amount;
  if (content.kind == kGroceries) {
    amount = draw.chance(0.7) ? measure(draw, 1, 20, units::kKilo)
                              : counted(50 * draw.between(1, 18), units::kGram, nullptr, Case::accusative);
  } else if (draw.chance(0.4)) {
    amount = measure(draw, 1, 30, units::kLiter);
  } else {
    const Noun* vessels[] = {&kBottle, &kGlass, &kCup};
    const Noun& vessel = *draw.pick(vessels);
    const uint32_t n = draw.between(1, 24);
    amount = counted(n, vessel, nullptr, Case::accusative, draw.chance(0.5));
  }
  return sequence({amount, {"of", ""}, content.name});
}

Phrase some_of(Draw& draw, const Noun& noun, Case c) {
  const Adjective* adjective = maybe_adjective(draw, noun);
  const uint32_t n = draw.handful();
  return counted(n, noun, adjective, c, draw.chance(0.6));
}

}  // namespace

Phrase cardinal(uint32_t n) { return {english_cardinal(n), german_cardinal(n)}; }

Phrase counted(uint32_t n, const Noun& noun, const Adjective* adjective, Case c, bool article) {
  const bool one = n == 1, dative = c == Case::dative;
  std::string english_adjective, german_adjective;
  if (adjective) {
    english_adjective = adjective->english;
    german_adjective = adjective->german_stem;
    german_adjective += one ? adjective_after_ein(c, noun.gender) : adjective_after_numeral(c);
  }
  const std::string english = words({english_adjective, one ? noun.english : noun.english_plural});
  const std::string plural = dative ? dative_plural(noun.german_plural) : std::string(noun.german_plural);
  return {one && article ? with_article(english) : words({english_cardinal(n), english}),
          words({german_count(n, noun.gender, c), german_adjective, one ? noun.german : std::string_view(plural)})};
}

Phrase the_noun(const Noun& noun, const Adjective* adjective, Case c) {
  std::string german_adjective;
  if (adjective) german_adjective = words({adjective->german_stem}).append(adjective_after_der(c, noun.gender));
  return {words({"the", adjective ? adjective->english : "", noun.english}),
          words({definite_article(c, noun.gender), german_adjective,
                 c == Case::genitive ? noun.german_genitive : noun.german})};
}

const Person& somebody(Draw& draw) { return draw.pick(draw.chance(0.3) ? pronouns() : people()); }

const Noun& noun_of_kind(Draw& draw, uint32_t kinds) {
  return draw.pick_if(nouns(), [&](const Noun& noun) { return noun.kinds & kinds; });
}

const Adjective* maybe_adjective(Draw& draw, const Noun& noun) {
  if (draw.chance(0.6)) return nullptr;
  return &draw.pick_if(adjectives(), [&](const Adjective& adjective) { return adjective.kinds & noun.kinds; });
}

Phrase some_nouns(Draw& draw, uint32_t kinds, Case c) { return some_of(draw, noun_of_kind(draw, kinds), c); }

Phrase two_kinds_of_nouns(Draw& draw, uint32_t kinds, Case c) {
  const Noun& first = noun_of_kind(draw, kinds);
  const Noun& second = draw.pick_if(nouns(), [&](const Noun& noun) { return (noun.kinds & kinds) && &noun != &first; });
  return sequence({some_of(draw, first, c), {"and", "und"}, some_of(draw, second, c)});
}

Phrase measure(Draw& draw, uint32_t low, uint32_t high, const Noun& unit) {
  if (low <= 1 && draw.chance(0.15)) return and_a_half(draw.between(0, 9), unit);
  return counted(draw.between(low, high), unit, nullptr, Case::accusative);
}

Phrase price(Draw& draw, uint32_t low, uint32_t high) {
  if (low <= 1 && draw.chance(0.1)) return counted(draw.between(1, 99), money::kCent, nullptr, Case::accusative);
  const Noun* others[] = {&money::kDollar, &money::kPound, &money::kFranc, &money::kCrown};
  const Noun& currency = draw.chance(0.6) ? money::kEuro : *draw.pick(others);
  const uint32_t whole = draw.between(low, high);
  Phrase amount = counted(whole, currency, nullptr, Case::accusative);
  if (whole >= 100 || !draw.chance(0.5)) return amount;
  const uint32_t hundredths = draw.chance(0.5) ? 10 * draw.between(1, 9) : draw.between(2, 99);
  return sequence({amount, cardinal(hundredths)});
}

Phrase some_object(Draw& draw, uint32_t kinds) {
  // Limit the share of money and portions: each is a single kind among several kinds of nouns.
  if ((kinds & kMoney) && (kinds == kMoney || draw.chance(0.25))) {
    return draw.chance(0.6) ? price(draw, 1, 99) : price(draw, 100, 9999);
  }
  if ((kinds & (kDrink | kGroceries)) && (kinds == kDrink || draw.chance(0.3))) return portion(draw, kinds);
  return some_nouns(draw, kinds, Case::accusative);
}

}  // namespace gyre::corpus
