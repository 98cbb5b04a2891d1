// Phrases in both languages: random choices, noun phrases, times, and clauses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/random.h"
#include "gyre/data/synthetic/lexicon.h"

namespace gyre::corpus {

// Random choices for one sentence pair, drawn from one random stream. At most one argument of a function call may draw,
// because C++ does not specify the order of evaluation, and the corpus must not depend on the compiler.
class Draw {
 public:
  Draw(uint64_t seed, uint64_t index) : random_(mix(seed, hash_name("embedded corpus")), index) {}

  bool chance(double probability) { return random_.uniform() < probability; }

  // Uniform in [low, high].
  uint32_t between(uint32_t low, uint32_t high) { return low + uint32_t(random_.below(high - low + 1)); }

  template <class T>
  const T& pick(std::span<const T> items) {
    return items[random_.below(items.size())];
  }
  template <class T, size_t N>
  const T& pick(const T (&items)[N]) {
    return items[random_.below(N)];
  }

  // Uniform among the items that satisfy `wanted`. Throws an Error if there are none.
  template <class T, class Wanted>
  const T& pick_if(std::span<const T> items, Wanted wanted) {
    const auto matches = std::ranges::count_if(items, wanted);
    require(matches > 0, "[embedded corpus] expected an entry that fits, got none");
    uint64_t skip = random_.below(uint64_t(matches));
    for (const T& item : items) {
      if (wanted(item) && skip-- == 0) return item;
    }
    throw Error("[embedded corpus] unreachable: the predicate is not deterministic");
  }

  // Number of items in a scene, at least 1: usually small, sometimes dozens or hundreds.
  uint32_t handful() {
    const double u = random_.uniform();
    if (u < 0.12) return 1;
    if (u < 0.6) return between(2, 12);
    return u < 0.9 ? between(13, 99) : between(100, 999);
  }

  // A number from 0 to a million. Covers every order of magnitude; half of the large numbers are round.
  uint32_t any_number() {
    const double u = random_.uniform();
    if (u < 0.15) return between(0, 12);
    if (u < 0.40) return between(13, 99);
    return u < 0.68 ? between(100, 999) : large_number();
  }

  // A number from a thousand to a million; half of them are round.
  uint32_t large_number() {
    const double u = random_.uniform();
    if (u < 0.03) return 1'000'000;
    const uint32_t n = u < 0.5 ? between(1000, 9999) : u < 0.8 ? between(10'000, 99'999) : between(100'000, 999'999);
    if (chance(0.5)) return n;
    const uint32_t unit = n < 10'000 ? 100 : n < 100'000 ? 1000 : 10'000;
    return n / unit * unit;
  }

 private:
  RandomStream random_;
};

// A phrase in both languages, and functions that join words and phrases.
struct Phrase {
  std::string english, german;
};

// Joins words with single spaces and skips empty ones.
inline std::string words(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ' ';
    text += part;
  }
  return text;
}

// Joins phrases that have the same order in both languages.
inline Phrase sequence(std::initializer_list<Phrase> parts) {
  Phrase whole;
  for (const Phrase& part : parts) {
    whole = {words({whole.english, part.english}), words({whole.german, part.german})};
  }
  return whole;
}

// Appends the final punctuation mark.
inline Phrase ended(const Phrase& phrase, std::string_view mark = ".") {
  return {phrase.english + std::string(mark), phrase.german + std::string(mark)};
}

// ---- Builds noun phrases: persons, counted nouns, definite nouns, measures and prices ------------------------------

Phrase cardinal(uint32_t n);  // the numeral without a noun, n <= 1,000,000

// "twenty-one red apples" / "einundzwanzig rote Äpfel". n >= 1; adjective may be null.
// With `article`, 1 is "a" or "an".
Phrase counted(uint32_t n, const Noun& noun, const Adjective* adjective, Case c, bool article = false);

// "the red apple" / "der rote Apfel", singular.
Phrase the_noun(const Noun& noun, const Adjective* adjective, Case c);

// A random subject. Nearly half are pronouns, because a model must learn separate verb forms for each of them.
const Person& somebody(Draw& draw);

// A small random number of a noun of one of these kinds, often with an adjective.
Phrase some_nouns(Draw& draw, uint32_t kinds, Case c);

// Two different nouns: "three cats and a dog".
Phrase two_kinds_of_nouns(Draw& draw, uint32_t kinds, Case c);

const Noun& noun_of_kind(Draw& draw, uint32_t kinds);
const Adjective* maybe_adjective(Draw& draw, const Noun& noun);

namespace units {
extern const Noun kGram, kKilo, kLiter, kCentimeter, kMeter, kKilometer;
extern const Noun kMinute, kHour, kDay, kWeek, kMonth, kYear;
extern const Noun kDegree;
}  // namespace units

namespace money {
extern const Noun kEuro, kCent, kDollar, kPound, kFranc, kCrown;
}  // namespace money

// A measure in the accusative: "one metre" / "einen Meter". If low <= 1, sometimes with a half:
// "two and a half hours" / "zweieinhalb Stunden".
Phrase measure(Draw& draw, uint32_t low, uint32_t high, const Noun& unit);

// A price in the accusative: "three euros fifty" / "drei Euro fünfzig". Has cents only below a hundred.
Phrase price(Draw& draw, uint32_t low, uint32_t high);

// An accusative object of one of these kinds: counted nouns, portions ("three litres of milk") or money.
Phrase some_object(Draw& draw, uint32_t kinds);

// ---- Builds clock times, dates, years, weekdays and adverbials of time ---------------------------------------------

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

// ---- Clauses -------------------------------------------------------------------------------------------------------
// Builds one clause in both languages: conjugation and German word order. The order of the German middle field is
// recipient - time - place - object. The finite verb is second, first or last; the rest of the verb ends the clause.

// The tense or modal verb. The English past is a German perfect.
enum class Mood { present, past, future, must, can, should, want, would_like };

struct Clause {
  Person subject;
  Verb verb;
  Mood mood = Mood::present;
  Phrase recipient;  // a person; precedes the time in German
  Phrase object;     // an indefinite object or a complement; follows the place in German
  Phrase place;
  Phrase time;
};

Phrase statement(const Clause& clause);   // Anna buys three apples today / Anna kauft heute drei Äpfel
Phrase time_first(const Clause& clause);  // today Anna buys three apples / heute kauft Anna drei Äpfel
Phrase question(const Clause& clause);  // does Anna buy three apples / kauft Anna drei Äpfel; not for want, would_like
Phrase dependent(const Clause& clause);   // Anna buys three apples / Anna drei Äpfel kauft
Phrase consequent(const Clause& clause);  // Anna buys three apples / kauft Anna drei Äpfel; after a subordinate clause
Phrase infinitive(const Clause& clause);  // an infinitive: to buy three apples; no subject, no mood

// Forms of "to be" and "werden" for a subject, without the subject, because the position of a German verb varies.
std::string_view english_be(Agreement agreement);
std::string_view english_was(Agreement agreement);
std::string_view german_sein(Agreement agreement);
std::string_view german_wurde(Agreement agreement);

}  // namespace gyre::corpus
