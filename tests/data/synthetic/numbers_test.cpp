// Compares number words with forms that were checked by hand.
#include "gyre/data/synthetic/numbers.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "gyre/core/error.h"

using namespace gyre;
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
