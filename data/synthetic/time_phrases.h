// Builds clock times, dates, years, weekdays and adverbials of time.
#pragma once

#include <cstdint>

#include "gyre/data/synthetic/draw.h"
#include "gyre/data/synthetic/phrase.h"

namespace gyre::corpus {

// The time on a twelve-hour clock, 1 <= hour <= 12, 0 <= minute < 60: "half past three" / "halb vier",
// "twenty-five past two" / "fünf vor halb drei", "one minute to nine" / "eine Minute vor neun".
Phrase clock_time(uint32_t hour, uint32_t minute);

// The time in a timetable, hour < 24, minute > 0: "fourteen oh five" / "vierzehn Uhr fünf".
Phrase timetable_time(uint32_t hour, uint32_t minute);

// A date, 1 <= month <= 12. The German ordinal's ending depends on its case: "the third of May" / "dritte Mai", or
// "dritten Mai" with `dative`.
Phrase date(uint32_t day, uint32_t month, bool dative);

Phrase some_clock_time(Draw& draw);
Phrase some_date(Draw& draw, bool dative);
uint32_t some_year(Draw& draw);
Phrase year(uint32_t year);
Phrase some_weekday(Draw& draw);

// Adverbials: "at half past three", "on the third of May", "in nineteen ninety-nine", "for three years" with seit.
Phrase at_some_time(Draw& draw);
Phrase on_some_date(Draw& draw);
Phrase in_some_year(Draw& draw);
Phrase since(Draw& draw);
Phrase every_week(Draw& draw);  // "every Monday at ten past two"

Phrase when_past(Draw& draw);
Phrase when_usual(Draw& draw);
Phrase when_future(Draw& draw);

}  // namespace gyre::corpus
