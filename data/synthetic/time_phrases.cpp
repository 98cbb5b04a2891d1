#include "gyre/data/synthetic/time_phrases.h"

#include "gyre/data/synthetic/noun_phrases.h"
#include "gyre/data/synthetic/numbers_english.h"
#include "gyre/data/synthetic/numbers_german.h"

namespace gyre::corpus {
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

uint32_t some_year(Draw& draw) {
  if (draw.chance(0.6)) return draw.between(1900, 1999);
  return draw.chance(0.6) ? draw.between(2000, 2025) : draw.between(1100, 1899);
}

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

}  // namespace gyre::corpus
