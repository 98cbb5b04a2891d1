#include "gyre/data/synthetic/phrases.h"

#include <string>

#include "gyre/data/synthetic/numbers.h"

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

namespace {

const Phrase kMonths[] = {{"January", "Januar"},  {"February", "Februar"},  {"March", "März"},
                          {"April", "April"},     {"May", "Mai"},           {"June", "Juni"},
                          {"July", "Juli"},       {"August", "August"},     {"September", "September"},
                          {"October", "Oktober"}, {"November", "November"}, {"December", "Dezember"}};
constexpr uint32_t kDaysInMonth[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

const Phrase kWeekdays[] = {{"Monday", "Montag"},       {"Tuesday", "Dienstag"}, {"Wednesday", "Mittwoch"},
                            {"Thursday", "Donnerstag"}, {"Friday", "Freitag"},   {"Saturday", "Samstag"},
                            {"Sunday", "Sonntag"}};

uint32_t next_hour(uint32_t hour) { return hour % 12 + 1; }

// "on Friday evening" / "am Freitagabend"
Phrase part_of_weekday(Draw& draw) {
  static const Phrase kParts[] = {{"morning", "morgen"}, {"afternoon", "nachmittag"}, {"evening", "abend"}};
  const Phrase weekday = some_weekday(draw), &part = draw.pick(kParts);
  return {words({"on", weekday.english, part.english}), "am " + weekday.german + part.german};
}

Phrase on_weekday(Draw& draw) { return sequence({{"on", "am"}, some_weekday(draw)}); }

const Noun& time_unit(Draw& draw) {
  const Noun* units[] = {&units::kMinute, &units::kHour, &units::kDay, &units::kWeek, &units::kMonth, &units::kYear};
  return *draw.pick(units);
}

// "three days" in the dative, for use after vor, in and seit.
Phrase span_of_time(Draw& draw) {
  const uint32_t n = draw.chance(0.7) ? draw.between(1, 12) : draw.between(13, 60);
  return counted(n, time_unit(draw), nullptr, Case::dative);
}

}  // namespace

Phrase clock_time(uint32_t hour, uint32_t minute) {
  const Phrase past = {" past " + english_cardinal(hour), " nach " + german_cardinal(hour)};
  const Phrase to = {" to " + english_cardinal(next_hour(hour)), " vor " + german_cardinal(next_hour(hour))};
  const std::string half = "halb " + german_cardinal(next_hour(hour));
  switch (minute) {
    case 0:
      return {english_cardinal(hour) + " o'clock", german_count(hour, Gender::neuter, Case::nominative) + " Uhr"};
    case 15:
      return {"quarter" + past.english, "Viertel" + past.german};
    case 25:
      return {"twenty-five" + past.english, "fünf vor " + half};
    case 30:
      return {"half" + past.english, half};
    case 35:
      return {"twenty-five" + to.english, "fünf nach " + half};
    case 45:
      return {"quarter" + to.english, "Viertel" + to.german};
    default:
      break;
  }
  const Phrase& side = minute < 30 ? past : to;
  const uint32_t distance = minute < 30 ? minute : 60 - minute;
  const Phrase count =
      distance % 5 == 0 ? cardinal(distance) : counted(distance, units::kMinute, nullptr, Case::nominative);
  return {count.english + side.english, count.german + side.german};
}

Phrase timetable_time(uint32_t hour, uint32_t minute) {
  return {words({english_cardinal(hour), minute < 10 ? "oh" : "", english_cardinal(minute)}),
          words({german_count(hour, Gender::neuter, Case::nominative), "Uhr", german_cardinal(minute)})};
}

Phrase date(uint32_t day, uint32_t month, bool dative) {
  const Phrase& name = kMonths[month - 1];
  return {words({"the", english_ordinal(day), "of", name.english}),
          words({german_ordinal(day, dative ? "en" : "e"), name.german})};
}

Phrase some_clock_time(Draw& draw) {
  const uint32_t hour = draw.between(1, 12);
  return clock_time(hour, draw.chance(0.85) ? 5 * draw.between(0, 11) : draw.between(0, 59));
}

Phrase some_date(Draw& draw, bool dative) {
  const uint32_t month = draw.between(1, 12);
  return date(draw.between(1, kDaysInMonth[month - 1]), month, dative);
}

namespace {

uint32_t some_year(Draw& draw) {
  if (draw.chance(0.6)) return draw.between(1900, 1999);
  return draw.chance(0.6) ? draw.between(2000, 2025) : draw.between(1100, 1899);
}

}  // namespace

Phrase year(uint32_t year) { return {english_year(year), german_year(year)}; }

Phrase some_weekday(Draw& draw) { return draw.pick(kWeekdays); }

Phrase at_some_time(Draw& draw) {
  if (draw.chance(0.8)) return sequence({{"at", "um"}, some_clock_time(draw)});
  const uint32_t hour = draw.between(1, 23), minute = draw.between(1, 59);
  return sequence({{"at", "um"}, timetable_time(hour, minute)});
}

Phrase on_some_date(Draw& draw) { return sequence({{"on", "am"}, some_date(draw, true)}); }

Phrase in_some_year(Draw& draw) { return sequence({{"in", "im Jahr"}, year(some_year(draw))}); }

Phrase since(Draw& draw) { return sequence({{"for", "seit"}, span_of_time(draw)}); }

Phrase every_week(Draw& draw) { return sequence({{"every", "jeden"}, some_weekday(draw), at_some_time(draw)}); }

Phrase when_past(Draw& draw) {
  static const Phrase kFixed[] = {
      {"yesterday", "gestern"}, {"last week", "letzte Woche"}, {"last year", "letztes Jahr"}};
  switch (draw.between(0, 7)) {
    case 0:
      return draw.pick(kFixed);
    case 1:
      return sequence({{"last", "letzten"}, some_weekday(draw)});
    case 2:
      return on_weekday(draw);
    case 3:
      return part_of_weekday(draw);
    case 4: {
      const Phrase span = span_of_time(draw);
      return {span.english + " ago", "vor " + span.german};
    }
    case 5:
      return on_some_date(draw);
    case 6:
      return in_some_year(draw);
    default:
      return sequence({{"yesterday", "gestern"}, at_some_time(draw)});
  }
}

Phrase when_usual(Draw& draw) {
  static const Phrase kFixed[] = {{"today", "heute"},
                                  {"every day", "jeden Tag"},
                                  {"every week", "jede Woche"},
                                  {"every year", "jedes Jahr"},
                                  {"this evening", "heute Abend"}};
  switch (draw.between(0, 3)) {
    case 0:
      return draw.pick(kFixed);
    case 1:
      return sequence({{"every", "jeden"}, some_weekday(draw)});
    case 2:
      return at_some_time(draw);
    default:
      return sequence({{"every day", "jeden Tag"}, at_some_time(draw)});
  }
}

Phrase when_future(Draw& draw) {
  static const Phrase kFixed[] = {{"tomorrow", "morgen"},
                                  {"next week", "nächste Woche"},
                                  {"next year", "nächstes Jahr"},
                                  {"tomorrow evening", "morgen Abend"}};
  switch (draw.between(0, 6)) {
    case 0:
      return draw.pick(kFixed);
    case 1:
      return sequence({{"next", "nächsten"}, some_weekday(draw)});
    case 2:
      return sequence({{"in", "in"}, span_of_time(draw)});
    case 3:
      return on_some_date(draw);
    case 4:
      return part_of_weekday(draw);
    case 5:
      return sequence({{"tomorrow", "morgen"}, at_some_time(draw)});
    default:
      return sequence({on_weekday(draw), at_some_time(draw)});
  }
}

namespace {

// Forms of a verb, indexed by Agreement.
using Forms = std::string_view[4];

constexpr Forms kAm = {"am", "are", "is", "are"};
constexpr Forms kWas = {"was", "were", "was", "were"};
constexpr Forms kSein = {"bin", "bist", "ist", "sind"};
constexpr Forms kHaben = {"habe", "hast", "hat", "haben"};
constexpr Forms kWurde = {"wurde", "wurdest", "wurde", "wurden"};

struct Modal {
  std::string_view english, english_third;
  Forms german;
};

// Modal verbs in the order of Mood, starting with Mood::future.
constexpr Modal kModals[] = {
    {"will", "will", {"werde", "wirst", "wird", "werden"}},
    {"must", "must", {"muss", "musst", "muss", "müssen"}},
    {"can", "can", {"kann", "kannst", "kann", "können"}},
    {"should", "should", {"sollte", "solltest", "sollte", "sollten"}},
    {"want to", "wants to", {"will", "willst", "will", "wollen"}},
    {"would like to", "would like to", {"möchte", "möchtest", "möchte", "möchten"}},
};

bool has_modal(Mood mood) { return mood >= Mood::future; }
const Modal& modal(Mood mood) { return kModals[int(mood) - int(Mood::future)]; }

std::string english_verb(const Clause& c) {
  const bool third = c.subject.agreement == Agreement::third;
  if (c.mood == Mood::past) return std::string(c.verb.english_past);
  if (c.mood == Mood::present) return std::string(third ? c.verb.english_third : c.verb.english);
  return words({third ? modal(c.mood).english_third : modal(c.mood).english, c.verb.english});
}

std::string english_rest(const Clause& c) { return words({c.recipient.english, c.object.english, c.place.english}); }

std::string english_statement(const Clause& c) {
  return words({c.subject.english, english_verb(c), english_rest(c), c.time.english});
}

// Returns the German finite verb without its separable prefix.
std::string_view finite_verb(const Clause& c) {
  const Agreement agreement = c.subject.agreement;
  if (has_modal(c.mood)) return modal(c.mood).german[int(agreement)];
  if (c.mood == Mood::past) return (c.verb.with_sein ? kSein : kHaben)[int(agreement)];
  const Forms present = {c.verb.german_first, c.verb.german_second, c.verb.german_third, c.verb.german};
  return present[int(agreement)];
}

std::string prefixed(const Clause& c, std::string_view verb) { return std::string(c.verb.prefix).append(verb); }

// Returns the end of a German main clause: a separated prefix, a participle or an infinitive.
std::string closing_verb(const Clause& c) {
  if (has_modal(c.mood)) return prefixed(c, c.verb.german);
  return std::string(c.mood == Mood::past ? c.verb.participle : c.verb.prefix);
}

std::string middle_field(const Clause& c) {
  return words({c.recipient.german, c.time.german, c.place.german, c.object.german});
}

std::string verb_first(const Clause& c) {
  return words({finite_verb(c), c.subject.german, middle_field(c), closing_verb(c)});
}

}  // namespace

Phrase statement(const Clause& c) {
  return {english_statement(c), words({c.subject.german, finite_verb(c), middle_field(c), closing_verb(c)})};
}

Phrase time_first(const Clause& clause) {
  Clause rest = clause;
  rest.time = {};
  return {words({clause.time.english, english_statement(rest)}), words({clause.time.german, verb_first(rest)})};
}

Phrase question(const Clause& c) {
  std::string_view auxiliary = c.subject.agreement == Agreement::third ? "does" : "do";
  if (c.mood == Mood::past) auxiliary = "did";
  if (has_modal(c.mood)) auxiliary = modal(c.mood).english;
  return {words({auxiliary, c.subject.english, c.verb.english, english_rest(c), c.time.english}), verb_first(c)};
}

Phrase dependent(const Clause& c) {
  const std::string verbs = has_modal(c.mood) || c.mood == Mood::past ? words({closing_verb(c), finite_verb(c)})
                                                                      : prefixed(c, finite_verb(c));
  return {english_statement(c), words({c.subject.german, middle_field(c), verbs})};
}

Phrase consequent(const Clause& c) { return {english_statement(c), verb_first(c)}; }

Phrase infinitive(const Clause& c) {
  const std::string verb =
      c.verb.prefix.empty() ? words({"zu", c.verb.german}) : prefixed(c, "zu").append(c.verb.german);
  return {words({"to", c.verb.english, english_rest(c), c.time.english}), words({middle_field(c), verb})};
}

std::string_view english_be(Agreement agreement) { return kAm[int(agreement)]; }
std::string_view english_was(Agreement agreement) { return kWas[int(agreement)]; }
std::string_view german_sein(Agreement agreement) { return kSein[int(agreement)]; }
std::string_view german_wurde(Agreement agreement) { return kWurde[int(agreement)]; }

}  // namespace gyre::corpus
