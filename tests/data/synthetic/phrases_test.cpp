// Compares clock times, dates, noun phrases and clauses with translations written by hand.
#include "gyre/data/synthetic/phrases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>
#include <string_view>

namespace gyre::corpus {
static bool operator==(const Phrase& a, const Phrase& b) { return a.english == b.english && a.german == b.german; }
static std::ostream& operator<<(std::ostream& out, const Phrase& p) { return out << p.english << " | " << p.german; }
}  // namespace gyre::corpus

using namespace gyre::corpus;

namespace {

// Returns the entry with this English form.
template <class T>
const T& entry(std::span<const T> table, std::string_view english) {
  const auto found = std::ranges::find(table, english, &T::english);
  REQUIRE(found != table.end());
  return *found;
}

const Noun& noun(std::string_view english) { return entry(nouns(), english); }
const Adjective* adjective(std::string_view english) { return &entry(adjectives(), english); }
const Person& person(std::string_view english) { return entry(people(), english); }

}  // namespace

TEST_CASE("clock times") {
  CHECK(clock_time(3, 0) == Phrase{"three o'clock", "drei Uhr"});
  CHECK(clock_time(1, 0) == Phrase{"one o'clock", "ein Uhr"});
  CHECK(clock_time(2, 10) == Phrase{"ten past two", "zehn nach zwei"});
  CHECK(clock_time(1, 5) == Phrase{"five past one", "fünf nach eins"});
  CHECK(clock_time(5, 15) == Phrase{"quarter past five", "Viertel nach fünf"});
  CHECK(clock_time(2, 20) == Phrase{"twenty past two", "zwanzig nach zwei"});
  CHECK(clock_time(2, 25) == Phrase{"twenty-five past two", "fünf vor halb drei"});
  CHECK(clock_time(3, 30) == Phrase{"half past three", "halb vier"});
  CHECK(clock_time(12, 30) == Phrase{"half past twelve", "halb eins"});
  CHECK(clock_time(2, 35) == Phrase{"twenty-five to three", "fünf nach halb drei"});
  CHECK(clock_time(2, 40) == Phrase{"twenty to three", "zwanzig vor drei"});
  CHECK(clock_time(4, 45) == Phrase{"quarter to five", "Viertel vor fünf"});
  CHECK(clock_time(12, 55) == Phrase{"five to one", "fünf vor eins"});
  CHECK(clock_time(8, 59) == Phrase{"one minute to nine", "eine Minute vor neun"});
  CHECK(clock_time(9, 22) == Phrase{"twenty-two minutes past nine", "zweiundzwanzig Minuten nach neun"});
  CHECK(timetable_time(14, 5) == Phrase{"fourteen oh five", "vierzehn Uhr fünf"});
  CHECK(timetable_time(1, 46) == Phrase{"one forty-six", "ein Uhr sechsundvierzig"});
}

TEST_CASE("dates") {
  CHECK(date(3, 5, true) == Phrase{"the third of May", "dritten Mai"});
  CHECK(date(3, 5, false) == Phrase{"the third of May", "dritte Mai"});
  CHECK(date(31, 12, true) == Phrase{"the thirty-first of December", "einunddreißigsten Dezember"});
  CHECK(date(7, 3, false) == Phrase{"the seventh of March", "siebte März"});
  CHECK(year(1984) == Phrase{"nineteen eighty-four", "neunzehnhundertvierundachtzig"});
}

TEST_CASE("counted and definite nouns: gender, case, adjective endings") {
  const Noun &apple = noun("apple"), &cup = noun("cup"), &house = noun("house"), &child = noun("child");
  using enum Case;
  CHECK(counted(1, apple, nullptr, accusative, true) == Phrase{"an apple", "einen Apfel"});
  CHECK(counted(1, apple, adjective("small"), nominative, true) == Phrase{"a small apple", "ein kleiner Apfel"});
  CHECK(counted(1, apple, adjective("small"), accusative) == Phrase{"one small apple", "einen kleinen Apfel"});
  CHECK(counted(21, apple, adjective("fresh"), accusative) ==
        Phrase{"twenty-one fresh apples", "einundzwanzig frische Äpfel"});
  CHECK(counted(1, cup, adjective("red"), dative) == Phrase{"one red cup", "einer roten Tasse"});
  CHECK(counted(1, house, adjective("old"), accusative, true) == Phrase{"an old house", "ein altes Haus"});
  CHECK(counted(3, child, adjective("clever"), dative) == Phrase{"three clever children", "drei klugen Kindern"});
  CHECK(counted(2, noun("car"), nullptr, dative) == Phrase{"two cars", "zwei Autos"});
  CHECK(counted(2, noun("woman"), nullptr, dative) == Phrase{"two women", "zwei Frauen"});
  CHECK(the_noun(apple, adjective("big"), nominative) == Phrase{"the big apple", "der große Apfel"});
  CHECK(the_noun(apple, adjective("big"), accusative) == Phrase{"the big apple", "den großen Apfel"});
  CHECK(the_noun(house, adjective("white"), genitive) == Phrase{"the white house", "des weißen Hauses"});
  CHECK(the_noun(cup, nullptr, genitive) == Phrase{"the cup", "der Tasse"});
  CHECK(counted(5, units::kKilo, nullptr, accusative) == Phrase{"five kilos", "fünf Kilo"});
  CHECK(counted(1, units::kMeter, nullptr, accusative) == Phrase{"one metre", "einen Meter"});
  CHECK(counted(1, units::kHour, nullptr, accusative) == Phrase{"one hour", "eine Stunde"});
  CHECK(counted(3, units::kDay, nullptr, dative) == Phrase{"three days", "drei Tagen"});
  CHECK(counted(2, money::kEuro, nullptr, accusative) == Phrase{"two euros", "zwei Euro"});
  CHECK(counted(1, money::kEuro, nullptr, accusative) == Phrase{"one euro", "einen Euro"});
  CHECK(counted(2, money::kCrown, nullptr, accusative) == Phrase{"two crowns", "zwei Kronen"});
}

TEST_CASE("clauses: position of German verbs") {
  const Verb& bring = entry(object_verbs(), "bring along");
  Clause clause{person("she"), bring, Mood::present, {}, {"three apples", "drei Äpfel"}, {}, {"today", "heute"}};
  CHECK(statement(clause) == Phrase{"she brings along three apples today", "sie bringt heute drei Äpfel mit"});
  CHECK(time_first(clause) == Phrase{"today she brings along three apples", "heute bringt sie drei Äpfel mit"});
  CHECK(question(clause) == Phrase{"does she bring along three apples today", "bringt sie heute drei Äpfel mit"});
  CHECK(dependent(clause).german == "sie heute drei Äpfel mitbringt");
  CHECK(consequent(clause).german == "bringt sie heute drei Äpfel mit");
  CHECK(infinitive(clause) == Phrase{"to bring along three apples today", "heute drei Äpfel mitzubringen"});

  clause.mood = Mood::past;
  clause.time = {"yesterday", "gestern"};
  CHECK(statement(clause) ==
        Phrase{"she brought along three apples yesterday", "sie hat gestern drei Äpfel mitgebracht"});
  CHECK(question(clause).english == "did she bring along three apples yesterday");
  CHECK(dependent(clause).german == "sie gestern drei Äpfel mitgebracht hat");

  clause.mood = Mood::want;
  clause.time = {"tomorrow", "morgen"};
  CHECK(statement(clause) ==
        Phrase{"she wants to bring along three apples tomorrow", "sie will morgen drei Äpfel mitbringen"});
  CHECK(dependent(clause).german == "sie morgen drei Äpfel mitbringen will");
}

TEST_CASE("clauses: perfect with sein, dative recipients before the time, conjugation") {
  const Verb &rise = entry(daily_verbs(), "get up"), &give = entry(giving_verbs(), "give");
  const Phrase when{"at half past five", "um halb sechs"};
  CHECK(statement({person("I"), rise, Mood::past, {}, {}, {}, when}) ==
        Phrase{"I got up at half past five", "ich bin um halb sechs aufgestanden"});
  CHECK(dependent({person("you"), rise, Mood::must, {}, {}, {}, when}).german == "du um halb sechs aufstehen musst");
  CHECK(time_first({person("my parents"), rise, Mood::future, {}, {}, {}, when}) ==
        Phrase{"at half past five my parents will get up", "um halb sechs werden meine Eltern aufstehen"});
  const Person& farmer = person("the farmer");
  const Phrase to_farmer{std::string(farmer.english_object), std::string(farmer.german_dative)};
  CHECK(statement({person("you"), give, Mood::present, to_farmer, {"a book", "ein Buch"}, {}, {"today", "heute"}}) ==
        Phrase{"you give the farmer a book today", "du gibst dem Bauern heute ein Buch"});
}
