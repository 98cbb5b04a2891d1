#include "gyre/data/synthetic/numbers.h"

#include <string_view>
#include <utility>

#include "gyre/core/error.h"

namespace gyre::corpus {
namespace {

constexpr uint32_t kMillion = 1'000'000;

constexpr std::string_view kBelowTwenty[] = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view kTens[] = {"",      "",      "twenty",  "thirty", "forty",
                                      "fifty", "sixty", "seventy", "eighty", "ninety"};

std::string below_hundred(uint32_t n) {
  if (n < 20) return std::string(kBelowTwenty[n]);
  std::string text(kTens[n / 10]);
  if (n % 10 != 0) text.append("-").append(kBelowTwenty[n % 10]);
  return text;
}

std::string below_thousand(uint32_t n) {
  if (n < 100) return below_hundred(n);
  std::string text = below_hundred(n / 100) + " hundred";
  if (n % 100 != 0) text += " and " + below_hundred(n % 100);
  return text;
}

}  // namespace

std::string english_cardinal(uint32_t n) {
  require(n <= kMillion, "[numbers] expected a cardinal of at most ", kMillion, ", got ", n);
  if (n == kMillion) return "one million";
  if (n < 1000) return below_thousand(n);
  std::string text = below_thousand(n / 1000) + " thousand";
  const uint32_t rest = n % 1000;
  if (rest != 0) text += (rest < 100 ? " and " : " ") + below_thousand(rest);
  return text;
}

std::string english_ordinal(uint32_t n) {
  require(n >= 1, "[numbers] expected an ordinal of at least 1, got ", n);
  static constexpr std::pair<std::string_view, std::string_view> kIrregular[] = {
      {"one", "first"},    {"two", "second"}, {"three", "third"},   {"five", "fifth"},
      {"eight", "eighth"}, {"nine", "ninth"}, {"twelve", "twelfth"}};
  std::string text = english_cardinal(n);
  const size_t separator = text.find_last_of(" -");
  const size_t begin = separator == std::string::npos ? 0 : separator + 1;
  const std::string last = text.substr(begin);
  text.resize(begin);
  for (const auto& [cardinal, ordinal] : kIrregular) {
    if (last == cardinal) return text.append(ordinal);
  }
  if (last.back() == 'y') return text + last.substr(0, last.size() - 1) + "ieth";
  return text + last + "th";
}

std::string english_year(uint32_t year) {
  require(year >= 1100 && year <= 2099, "[numbers] expected a year from 1100 to 2099, got ", year);
  if (year >= 2000 && year <= 2009) return english_cardinal(year);
  const std::string century = below_hundred(year / 100);
  const uint32_t rest = year % 100;
  if (rest == 0) return century + " hundred";
  return century + (rest < 10 ? " oh " : " ") + below_hundred(rest);
}

namespace {

constexpr uint32_t kLargestGerman = 1'000'000;

constexpr std::string_view kGermanBelowTwenty[] = {
    "",     "ein", "zwei",  "drei",     "vier",     "fünf",     "sechs",    "sieben",   "acht",     "neun",
    "zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
constexpr std::string_view kGermanTens[] = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                            "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};

// The form inside a compound: without final -s ("ein", "einhundertein"), and empty for zero. n < kLargestGerman.
std::string compound(uint32_t n) {
  if (n >= 1000) return compound(n / 1000) + "tausend" + compound(n % 1000);
  if (n >= 100) return compound(n / 100) + "hundert" + compound(n % 100);
  if (n < 20) return std::string(kGermanBelowTwenty[n]);
  std::string text(kGermanBelowTwenty[n % 10]);
  if (n % 10 != 0) text += "und";
  return text.append(kGermanTens[n / 10]);
}

}  // namespace

std::string german_cardinal(uint32_t n) {
  require(n <= kLargestGerman, "[numbers] expected a cardinal of at most ", kLargestGerman, ", got ", n);
  if (n == 0) return "null";
  if (n == kLargestGerman) return "eine Million";
  return compound(n) + (n % 100 == 1 ? "s" : "");
}

std::string german_count(uint32_t n, Gender gender, Case grammatical_case) {
  if (n == 1) return "ein" + std::string(ein_ending(grammatical_case, gender));
  if (n == kLargestGerman) return "ein" + std::string(ein_ending(grammatical_case, Gender::feminine)) + " Million";
  return german_cardinal(n);
}

std::string german_ordinal(uint32_t n, std::string_view ending) {
  require(n >= 1 && n <= kLargestGerman, "[numbers] expected an ordinal from 1 to ", kLargestGerman, ", got ", n);
  if (n == kLargestGerman) return "millionst" + std::string(ending);
  const uint32_t last = n % 100;
  std::string stem;
  switch (last) {
    case 1:
      stem = compound(n - last) + "erst";
      break;
    case 3:
      stem = compound(n - last) + "dritt";
      break;
    case 7:
      stem = compound(n - last) + "siebt";
      break;
    case 8:
      stem = compound(n);
      break;  // "acht" already ends in "t"
    default:
      stem = compound(n) + (last == 0 || last >= 20 ? "st" : "t");
  }
  return stem.append(ending);
}

std::string german_year(uint32_t year) {
  require(year >= 1100 && year <= 2099, "[numbers] expected a year from 1100 to 2099, got ", year);
  if (year >= 2000) return german_cardinal(year);
  return compound(year / 100) + "hundert" + compound(year % 100) + (year % 100 == 1 ? "s" : "");
}

}  // namespace gyre::corpus
