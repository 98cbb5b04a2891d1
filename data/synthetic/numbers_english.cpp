#include "gyre/data/synthetic/numbers_english.h"

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

}  // namespace gyre::corpus
