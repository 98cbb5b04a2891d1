#include "gyre/data/synthetic/numbers_german.h"

#include "gyre/core/error.h"

namespace gyre::corpus {
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
