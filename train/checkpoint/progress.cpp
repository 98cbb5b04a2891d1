#include "gyre/train/checkpoint/progress.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {

namespace {

constexpr std::array<std::pair<char, uint64_t>, 3> kMultipliers{{{'G', 1'000'000'000}, {'M', 1'000'000}, {'K', 1'000}}};
constexpr std::array<std::pair<char, Period::Unit>, 3> kUnits{
    {{'u', Period::Unit::updates}, {'e', Period::Unit::epochs}, {'t', Period::Unit::target_tokens}}};

// If the table contains the last character of `text`, removes it and returns its value, else returns `otherwise`.
template <class Table, class Value>
Value take_suffix(std::string_view& text, const Table& table, Value otherwise) {
  for (const auto& [letter, value] : table) {
    if (text.ends_with(letter)) {
      text.remove_suffix(1);
      return value;
    }
  }
  return otherwise;
}

}  // namespace

Period Period::parse(const std::string& text) {
  std::string_view rest = text;
  const Unit unit = take_suffix(rest, kUnits, Unit::updates);
  const uint64_t multiplier = take_suffix(rest, kMultipliers, uint64_t{1});
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
  const double amount = number * static_cast<double>(multiplier);
  const bool whole = error == std::errc() && end == rest.data() + rest.size() && !std::signbit(amount) &&
                     amount < 0x1p53 && amount == std::floor(amount);
  if (!whole) {
    throw UsageError("[period] expected a whole number of updates (u), epochs (e) or target tokens (t) like 500u, ",
                     "100Ku, 20e or 1Gt, got '", text, "'");
  }
  return {static_cast<uint64_t>(amount), unit};
}

std::string to_string(const Period& period) {
  std::string digits = std::to_string(period.amount);
  for (const auto& [letter, multiplier] : kMultipliers) {
    if (period.amount > 0 && period.amount % multiplier == 0) {
      digits = std::to_string(period.amount / multiplier) + letter;
      break;
    }
  }
  for (const auto& [letter, value] : kUnits) {
    if (value == period.unit) digits += letter;
  }
  return digits;
}

uint64_t Period::count(const Progress& progress) const {
  switch (unit) {
    case Unit::updates:
      return progress.updates;
    case Unit::epochs:
      return progress.epoch;
    case Unit::target_tokens:
      return progress.target_tokens;
  }
  return 0;
}

bool Period::is_reached(const Progress& progress) const { return amount > 0 && count(progress) >= amount; }

uint64_t Period::in_updates(uint64_t updates_per_epoch) const {
  switch (unit) {
    case Unit::updates:
      return amount;
    case Unit::epochs:
      return amount * updates_per_epoch;
    case Unit::target_tokens:
      return 0;
  }
  return 0;
}

}  // namespace gyre
