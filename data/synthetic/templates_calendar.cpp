#include <string>

#include "gyre/data/synthetic/numbers.h"
#include "gyre/data/synthetic/phrases.h"
#include "gyre/data/synthetic/templates.h"

namespace gyre::corpus {
namespace {

Phrase clock_sentence(Draw& draw) {
  static const Phrase kAdverbs[] = {{"", ""}, {"already", "schon"}, {"exactly", "genau"}, {"almost", "fast"}};
  const Phrase& adverb = draw.pick(kAdverbs);
  const Phrase time = sequence({adverb, some_clock_time(draw)});
  if (draw.chance(0.2)) return ended(sequence({{"is it", "ist es"}, time}), "?");
  return ended(sequence({{"it is", "es ist"}, time}));
}

// "from nine to five o'clock" / "von neun bis fünf Uhr". Avoids one o'clock, which is irregular in German ("ein Uhr").
Phrase opening_hours_sentence(Draw& draw) {
  static const Phrase kPlaces[] = {{"the museum", "das Museum"},
                                   {"the shop", "der Laden"},
                                   {"the library", "die Bibliothek"},
                                   {"the bakery", "die Bäckerei"},
                                   {"the post office", "die Post"}};
  const Phrase place = draw.pick(kPlaces), day = some_weekday(draw);
  const uint32_t from = draw.between(6, 11), to = draw.between(2, 5);
  return {
      words({"on", day.english, place.english, "is open from", english_cardinal(from), "to", english_cardinal(to)}) +
          " o'clock.",
      words({"am", day.german, "ist", place.german, "von", german_cardinal(from), "bis", german_cardinal(to)}) +
          " Uhr geöffnet."};
}

Phrase date_sentence(Draw& draw) {
  static const Phrase kDays[] = {
      {"today is", "heute ist"}, {"yesterday was", "gestern war"}, {"tomorrow is", "morgen ist"}};
  const Phrase &day = draw.pick(kDays), date = some_date(draw, false);
  if (draw.chance(0.6))
    return {words({day.english, date.english}) + ".", words({day.german, "der", date.german}) + "."};
  const Phrase weekday = some_weekday(draw);
  return {words({day.english, weekday.english}) + ", " + date.english + ".",
          words({day.german, weekday.german}) + ", der " + date.german + "."};
}

// "The festival takes place on Monday, the third of May" / "Das Fest findet am Montag, dem dritten Mai, statt"
Phrase event_sentence(Draw& draw) {
  static const Phrase kEvents[] = {{"the festival", "das Fest"},
                                   {"the concert", "das Konzert"},
                                   {"the wedding", "die Hochzeit"},
                                   {"the meeting", "die Sitzung"},
                                   {"the exam", "die Prüfung"}};
  const Phrase &event = draw.pick(kEvents), date = some_date(draw, true), weekday = some_weekday(draw);
  if (draw.chance(0.5)) {
    return {words({event.english, "takes place on", weekday.english}) + ", " + date.english + ".",
            words({event.german, "findet am", weekday.german}) + ", dem " + date.german + ", statt."};
  }
  return {words({event.english, "is on", weekday.english}) + ", " + date.english + ".",
          words({event.german, "ist am", weekday.german}) + ", dem " + date.german + "."};
}

Phrase birth_sentence(Draw& draw) {
  const Person& subject = somebody(draw);
  const Phrase birth_year = year(draw.between(1900, 2025));
  Phrase when = on_some_date(draw);
  if (draw.chance(0.5)) {
    when = sequence({when, birth_year});
  } else if (draw.chance(0.5)) {
    when = sequence({{"in", "im Jahr"}, birth_year});
  }
  return {words({subject.english, english_was(subject.agreement), "born", when.english}) + ".",
          words({subject.german, german_wurde(subject.agreement), when.german, "geboren"}) + "."};
}

Phrase history_sentence(Draw& draw) {
  static const Phrase kBuildings[] = {{"the church", "die Kirche"},
                                      {"the castle", "das Schloss"},
                                      {"the bridge", "die Brücke"},
                                      {"the tower", "der Turm"},
                                      {"the old town hall", "das alte Rathaus"}};
  static const Phrase kActs[] = {
      {"was built", "gebaut"}, {"was destroyed", "zerstört"}, {"was sold", "verkauft"}, {"was renovated", "renoviert"}};
  const Phrase &building = draw.pick(kBuildings), &act = draw.pick(kActs);
  const uint32_t century = draw.between(9, 20);
  const Phrase when = draw.chance(0.6) ? in_some_year(draw)
                                       : Phrase{"in the " + english_ordinal(century) + " century",
                                                "im " + german_ordinal(century, "en") + " Jahrhundert"};
  if (draw.chance(0.3)) {
    return {words({when.english, building.english, act.english}) + ".",
            words({when.german, "wurde", building.german, act.german}) + "."};
  }
  return {words({building.english, act.english, when.english}) + ".",
          words({building.german, "wurde", when.german, act.german}) + "."};
}

// Mostly small ordinals, sometimes up to a million.
uint32_t some_rank(Draw& draw) {
  const uint32_t u = draw.between(0, 99);
  if (u < 45) return draw.between(1, 12);
  if (u < 80) return draw.between(13, 99);
  return u < 93 ? draw.between(100, 999) : draw.large_number();
}

// "the third house" in the nominative or accusative. An ordinal is declined like an adjective.
Phrase the_nth(uint32_t n, const Noun& noun, Case c) {
  return {
      words({"the", english_ordinal(n), noun.english}),
      words({definite_article(c, noun.gender), german_ordinal(n, adjective_after_der(c, noun.gender)), noun.german})};
}

Phrase ordinal_sentence(Draw& draw) {
  static const Noun kStops[] = {
      {"house", "", "Haus", Gender::neuter, ""},   {"street", "", "Straße", Gender::feminine, ""},
      {"door", "", "Tür", Gender::feminine, ""},   {"room", "", "Zimmer", Gender::neuter, ""},
      {"tree", "", "Baum", Gender::masculine, ""}, {"seat", "", "Platz", Gender::masculine, ""}};
  static const Phrase kSides[] = {{"on the left", "auf der linken Seite"}, {"on the right", "auf der rechten Seite"}};
  const Noun& stop = draw.pick(kStops);
  const Phrase& side = draw.pick(kSides);
  const uint32_t n = some_rank(draw);
  if (draw.chance(0.5)) return ended(sequence({{"this is", "das ist"}, the_nth(n, stop, Case::nominative), side}));
  return ended(sequence({{"we are looking for", "wir suchen"}, the_nth(n, stop, Case::accusative), side}));
}

Phrase visitor_sentence(Draw& draw) {
  static const Noun kArrivals[] = {{"visitor", "", "Besucher", Gender::masculine, ""},
                                   {"guest", "", "Gast", Gender::masculine, ""},
                                   {"letter", "", "Brief", Gender::masculine, ""},
                                   {"machine", "", "Maschine", Gender::feminine, ""},
                                   {"car", "", "Auto", Gender::neuter, ""}};
  const Noun& noun = draw.pick(kArrivals);
  const Phrase arrival = the_nth(some_rank(draw), noun, Case::nominative), time = when_past(draw);
  return {words({arrival.english, "arrived", time.english}) + ".",
          words({arrival.german, "ist", time.german, "angekommen"}) + "."};
}

// Ordinals in the dative and after a possessive.
Phrase rank_sentence(Draw& draw) {
  const Person& subject = somebody(draw);
  const Possessive& possessive = possessives()[subject.pronoun];
  const uint32_t n = draw.between(1, 99);
  const std::string rank = english_ordinal(n);
  static constexpr Verb kLive = {"live", "lives", "lived", "", "wohnen", "wohne", "wohnst", "wohnt", "gewohnt"};
  static constexpr Verb kTake = {"reach",    "reaches",   "reached",  "",        "erreichen",
                                 "erreiche", "erreichst", "erreicht", "erreicht"};
  static constexpr Verb kCelebrate = {"celebrate", "celebrates", "celebrated", "",        "feiern",
                                      "feiere",    "feierst",    "feiert",     "gefeiert"};
  Clause clause{subject, kLive, Mood::present, {}, {}, {}, {}};
  switch (draw.between(0, 2)) {
    case 0:
      clause.object = {"on the " + rank + " floor", "im " + german_ordinal(n, "en") + " Stock"};
      break;
    case 1:
      clause.verb = kTake;
      clause.mood = Mood::past;
      clause.object = {rank + " place", "den " + german_ordinal(n, "en") + " Platz"};
      break;
    default:
      clause.verb = kCelebrate;
      clause.mood = draw.chance(0.5) ? Mood::past : Mood::future;
      clause.time = clause.mood == Mood::past ? when_past(draw) : when_future(draw);
      clause.object = {words({possessive.english, rank, "birthday"}),
                       words({std::string(possessive.german_stem) + "en", german_ordinal(n, "en"), "Geburtstag"})};
  }
  return ended(statement(clause));
}

constexpr Template kCalendarTemplates[] = {{4, clock_sentence},   {2, opening_hours_sentence}, {4, date_sentence},
                                           {3, event_sentence},   {5, birth_sentence},         {4, history_sentence},
                                           {4, ordinal_sentence}, {3, visitor_sentence},       {5, rank_sentence}};

}  // namespace

std::span<const Template> calendar_templates() { return kCalendarTemplates; }

}  // namespace gyre::corpus
