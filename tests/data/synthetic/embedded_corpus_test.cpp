// Tests the properties of the embedded corpus that training relies on: pairs are a pure function of seed and index,
// each sentence has one translation, and the splits are disjoint.
#include "gyre/data/synthetic/embedded_corpus.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "gyre/core/error.h"
#include "gyre/data/synthetic/numbers.h"
#include "gyre/data/synthetic/phrases.h"

using namespace gyre;

namespace gyre {
static std::ostream& operator<<(std::ostream& out, const SentencePair& p) {
  return out << p.source << " | " << p.target;
}
}  // namespace gyre

namespace {

size_t word_count(const std::string& text) { return size_t(std::ranges::count(text, ' ')) + 1; }

}  // namespace

TEST_CASE("corpus: a pair is a pure function of seed and index") {
  std::vector<SentencePair> forward;
  for (uint64_t i = 0; i < 1000; ++i) forward.push_back(corpus_pair(7, i));
  for (uint64_t i = 1000; i-- > 0;) CHECK(corpus_pair(7, i) == forward[i]);
  size_t same = 0;
  for (uint64_t i = 0; i < 1000; ++i) same += corpus_pair(8, i) == forward[i];
  CHECK(same < 20);
}

TEST_CASE("corpus: the pairs are the same on every machine and with every compiler") {
  CHECK(corpus_pair(1, 0) == SentencePair{"He wants to eat twelve bananas.", "Er will zwölf Bananen essen."});
  CHECK(corpus_pair(1, 1) ==
        SentencePair{"The woman who lost seventy-nine clocks pays ninety-eight pounds.",
                     "Die Frau, die neunundsiebzig Uhren verloren hat, bezahlt achtundneunzig Pfund."});
  CHECK(corpus_pair(1, 1'000'000) == SentencePair{"They counted five chairs and eleven green cups.",
                                                  "Sie haben fünf Stühle und elf grüne Tassen gezählt."});
}

TEST_CASE("corpus: an English sentence has one translation, and the splits share no sentence on either side") {
  std::unordered_map<std::string, std::string> translation;
  std::unordered_map<std::string, Split> source_split, target_split;
  size_t clashes = 0, shared = 0, heldout = 0;
  constexpr uint64_t kPairs = 120'000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    const SentencePair pair = corpus_pair(i % 2, i);  // the property holds across seeds
    const Split split = split_of(pair);
    heldout += split == Split::heldout;
    clashes += translation.emplace(pair.source, pair.target).first->second != pair.target;
    shared += source_split.emplace(pair.source, split).first->second != split;
    shared += target_split.emplace(pair.target, split).first->second != split;
  }
  CHECK(clashes == 0);
  CHECK(shared == 0);
  CHECK(heldout > kPairs / 50 * 8 / 10);
  CHECK(heldout < kPairs / 50 * 12 / 10);
  CHECK(translation.size() > kPairs * 3 / 4);  // most sentences occur once
}

TEST_CASE("corpus: sentences are well-formed and short, and contain numbers from zero to a million") {
  size_t english = 0, german = 0, questions = 0, millions = 0, clock = 0;
  constexpr size_t kPairs = 20'000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    const SentencePair pair = corpus_pair(3, i);
    for (const std::string& text : {pair.source, pair.target}) {
      CHECK_MESSAGE((text.ends_with('.') || text.ends_with('?')), text);
      CHECK_MESSAGE(text.find("  ") == std::string::npos, text);
      CHECK_MESSAGE(text.find(" ,") == std::string::npos, text);
      const bool upper =
          (text[0] >= 'A' && text[0] <= 'Z') || text.starts_with("Ä") || text.starts_with("Ö") || text.starts_with("Ü");
      CHECK_MESSAGE(upper, text);
      CHECK(word_count(text) <= 30);
    }
    CHECK(pair.source.back() == pair.target.back());
    english += word_count(pair.source);
    german += word_count(pair.target);
    questions += pair.source.back() == '?';
    millions += pair.target.find("Million") != std::string::npos;
    clock += pair.target.find("halb ") != std::string::npos;
  }
  MESSAGE("mean words: English ", double(english) / kPairs, ", German ", double(german) / kPairs);
  CHECK(english > 7 * kPairs);
  CHECK(english < 11 * kPairs);
  CHECK(german > 6 * kPairs);
  CHECK(german < 10 * kPairs);
  CHECK(questions > kPairs / 100);
  CHECK(millions > 10);
  CHECK(clock > kPairs / 50);
}

TEST_CASE("generate_corpus: returns the first distinct pairs of a split") {
  const auto train = generate_corpus(5, Split::train, 5000);
  const auto heldout = generate_corpus(5, Split::heldout, 500);
  CHECK(train.size() == 5000);
  CHECK(heldout.size() == 500);
  CHECK(generate_corpus(5, Split::train, 5000) == train);

  std::unordered_set<std::string> sources, targets;
  for (const SentencePair& pair : train) {
    CHECK(split_of(pair) == Split::train);
    CHECK(sources.insert(pair.source).second);
    targets.insert(pair.target);
  }
  for (const SentencePair& pair : heldout) {
    CHECK(split_of(pair) == Split::heldout);
    CHECK(sources.insert(pair.source).second);
    CHECK(!targets.contains(pair.target));
  }

  const auto shorter = generate_corpus(5, Split::train, 100);
  CHECK(std::equal(shorter.begin(), shorter.end(), train.begin()));
  CHECK(generate_corpus(5, Split::train, 0).empty());
}

// ---- Compares number words with forms that were checked by hand ----------------------------------------------------

using namespace gyre::corpus;

namespace {

struct Form {
  uint32_t n;
  const char *english, *german;
};

const Form kCardinals[] = {
    {0, "zero", "null"},
    {1, "one", "eins"},
    {2, "two", "zwei"},
    {6, "six", "sechs"},
    {7, "seven", "sieben"},
    {11, "eleven", "elf"},
    {12, "twelve", "zwölf"},
    {13, "thirteen", "dreizehn"},
    {16, "sixteen", "sechzehn"},
    {17, "seventeen", "siebzehn"},
    {20, "twenty", "zwanzig"},
    {21, "twenty-one", "einundzwanzig"},
    {30, "thirty", "dreißig"},
    {44, "forty-four", "vierundvierzig"},
    {60, "sixty", "sechzig"},
    {66, "sixty-six", "sechsundsechzig"},
    {70, "seventy", "siebzig"},
    {77, "seventy-seven", "siebenundsiebzig"},
    {99, "ninety-nine", "neunundneunzig"},
    {100, "one hundred", "einhundert"},
    {101, "one hundred and one", "einhunderteins"},
    {111, "one hundred and eleven", "einhundertelf"},
    {121, "one hundred and twenty-one", "einhunderteinundzwanzig"},
    {123, "one hundred and twenty-three", "einhundertdreiundzwanzig"},
    {200, "two hundred", "zweihundert"},
    {201, "two hundred and one", "zweihunderteins"},
    {999, "nine hundred and ninety-nine", "neunhundertneunundneunzig"},
    {1000, "one thousand", "eintausend"},
    {1001, "one thousand and one", "eintausendeins"},
    {1011, "one thousand and eleven", "eintausendelf"},
    {1100, "one thousand one hundred", "eintausendeinhundert"},
    {2021, "two thousand and twenty-one", "zweitausendeinundzwanzig"},
    {10000, "ten thousand", "zehntausend"},
    {21000, "twenty-one thousand", "einundzwanzigtausend"},
    {99999, "ninety-nine thousand nine hundred and ninety-nine", "neunundneunzigtausendneunhundertneunundneunzig"},
    {100000, "one hundred thousand", "einhunderttausend"},
    {101001, "one hundred and one thousand and one", "einhunderteintausendeins"},
    {700017, "seven hundred thousand and seventeen", "siebenhunderttausendsiebzehn"},
    {999999, "nine hundred and ninety-nine thousand nine hundred and ninety-nine",
     "neunhundertneunundneunzigtausendneunhundertneunundneunzig"},
    {1000000, "one million", "eine Million"},
};

// The German forms have the weak nominative ending.
const Form kOrdinals[] = {
    {1, "first", "erste"},
    {2, "second", "zweite"},
    {3, "third", "dritte"},
    {5, "fifth", "fünfte"},
    {7, "seventh", "siebte"},
    {8, "eighth", "achte"},
    {9, "ninth", "neunte"},
    {12, "twelfth", "zwölfte"},
    {16, "sixteenth", "sechzehnte"},
    {17, "seventeenth", "siebzehnte"},
    {19, "nineteenth", "neunzehnte"},
    {20, "twentieth", "zwanzigste"},
    {21, "twenty-first", "einundzwanzigste"},
    {30, "thirtieth", "dreißigste"},
    {83, "eighty-third", "dreiundachtzigste"},
    {100, "one hundredth", "einhundertste"},
    {101, "one hundred and first", "einhunderterste"},
    {103, "one hundred and third", "einhundertdritte"},
    {107, "one hundred and seventh", "einhundertsiebte"},
    {108, "one hundred and eighth", "einhundertachte"},
    {112, "one hundred and twelfth", "einhundertzwölfte"},
    {1000, "one thousandth", "eintausendste"},
    {1001, "one thousand and first", "eintausenderste"},
    {10000, "ten thousandth", "zehntausendste"},
    {1000000, "one millionth", "millionste"},
};

const Form kYears[] = {
    {1100, "eleven hundred", "elfhundert"},
    {1101, "eleven oh one", "elfhunderteins"},
    {1492, "fourteen ninety-two", "vierzehnhundertzweiundneunzig"},
    {1900, "nineteen hundred", "neunzehnhundert"},
    {1905, "nineteen oh five", "neunzehnhundertfünf"},
    {1999, "nineteen ninety-nine", "neunzehnhundertneunundneunzig"},
    {2000, "two thousand", "zweitausend"},
    {2001, "two thousand and one", "zweitausendeins"},
    {2010, "twenty ten", "zweitausendzehn"},
    {2021, "twenty twenty-one", "zweitausendeinundzwanzig"},
};

}  // namespace

TEST_CASE("cardinals") {
  for (const Form& form : kCardinals) {
    CHECK(english_cardinal(form.n) == form.english);
    CHECK(german_cardinal(form.n) == form.german);
  }
  CHECK_THROWS_AS(english_cardinal(1'000'001), Error);
  CHECK_THROWS_AS(german_cardinal(1'000'001), Error);
}

TEST_CASE("ordinals") {
  for (const Form& form : kOrdinals) {
    CHECK(english_ordinal(form.n) == form.english);
    CHECK(german_ordinal(form.n, "e") == form.german);
  }
  CHECK(german_ordinal(3, "en") == "dritten");
  CHECK_THROWS_AS(english_ordinal(0), Error);
  CHECK_THROWS_AS(german_ordinal(0, "e"), Error);
}

TEST_CASE("years") {
  for (const Form& form : kYears) {
    CHECK(english_year(form.n) == form.english);
    CHECK(german_year(form.n) == form.german);
  }
  CHECK_THROWS_AS(english_year(1099), Error);
  CHECK_THROWS_AS(german_year(2100), Error);
}

TEST_CASE("a German numeral agrees with its noun if it is inflected") {
  CHECK(german_count(1, Gender::masculine, Case::nominative) == "ein");
  CHECK(german_count(1, Gender::masculine, Case::accusative) == "einen");
  CHECK(german_count(1, Gender::masculine, Case::dative) == "einem");
  CHECK(german_count(1, Gender::feminine, Case::nominative) == "eine");
  CHECK(german_count(1, Gender::feminine, Case::dative) == "einer");
  CHECK(german_count(1, Gender::neuter, Case::accusative) == "ein");
  CHECK(german_count(21, Gender::masculine, Case::accusative) == "einundzwanzig");
  CHECK(german_count(101, Gender::feminine, Case::nominative) == "einhunderteins");
  CHECK(german_count(1'000'000, Gender::masculine, Case::accusative) == "eine Million");
  CHECK(german_count(1'000'000, Gender::neuter, Case::dative) == "einer Million");
}

TEST_CASE("different numbers have different words") {
  std::set<std::string> english, german;
  size_t count = 0;
  for (uint32_t n = 0; n <= 1'000'000; n += n < 10'000 ? 1 : 997, ++count) {
    english.insert(english_cardinal(n));
    german.insert(german_cardinal(n));
  }
  CHECK(english.size() == count);
  CHECK(german.size() == count);
}

// ---- Compares clock times, dates, noun phrases and clauses with translations written by hand -----------------------

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
