#include "train/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/kernels.h"

namespace gyre {

namespace {

constexpr std::array<std::pair<char, uint64_t>, 3> kMultipliers{{{'G', 1'000'000'000}, {'M', 1'000'000}, {'K', 1'000}}};
constexpr std::array<std::pair<char, Period::Unit>, 3> kUnits{
    {{'u', Period::Unit::updates}, {'e', Period::Unit::epochs}, {'t', Period::Unit::target_tokens}}};

// Removes the last character of `text` when the table has it, and gives its value.
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

std::string Period::text() const {
  std::string digits = std::to_string(amount);
  for (const auto& [letter, multiplier] : kMultipliers) {
    if (amount > 0 && amount % multiplier == 0) {
      digits = std::to_string(amount / multiplier) + letter;
      break;
    }
  }
  for (const auto& [letter, value] : kUnits) {
    if (value == unit) digits += letter;
  }
  return digits;
}

bool Progress::reached(const Period& p) const {
  if (p.amount == 0) return false;
  switch (p.unit) {
    case Period::Unit::updates:
      return updates >= p.amount;
    case Period::Unit::epochs:
      return epoch >= p.amount;
    case Period::Unit::target_tokens:
      return target_tokens >= p.amount;
  }
  return false;
}

namespace {

// One line per option: what must hold, what was expected, what came.
template <class Value>
void expect(bool ok, std::string_view flag, std::string_view expected, const Value& got) {
  if (!ok) throw UsageError("[", flag, "] expected ", expected, ", got ", got);
}

template <class Value>
void expect_at_least(Value minimum, std::string_view flag, Value got) {
  expect(got >= minimum, flag, concat("at least ", minimum), got);
}

void expect_finite_at_least(double minimum, std::string_view flag, double got) {
  expect(std::isfinite(got) && got >= minimum, flag, concat("a number of at least ", minimum), got);
}

// Rates of decay, dropout and smoothing: 1 would leave nothing.
void expect_fraction(std::string_view flag, double got) {
  expect(got >= 0 && got < 1, flag, "a number of at least 0 and below 1", got);
}

void expect_one_of(std::initializer_list<std::string_view> choices, std::string_view flag, const std::string& got) {
  std::string expected;
  for (const std::string_view choice : choices) expected += (expected.empty() ? "" : ", ") + std::string(choice);
  expect(std::find(choices.begin(), choices.end(), got) != choices.end(), flag, "one of " + expected, "'" + got + "'");
}

void validate(const OptimizerOptions& o) {
  expect_one_of({"adam", "adamw"}, "--optimizer", o.kind);
  expect(std::isfinite(o.learning_rate) && o.learning_rate > 0, "--learn-rate", "a positive number", o.learning_rate);
  expect_fraction("--optimizer-params beta1", o.beta1);
  expect_fraction("--optimizer-params beta2", o.beta2);
  expect(std::isfinite(o.epsilon) && o.epsilon > 0, "--optimizer-params epsilon", "a positive number", o.epsilon);
  expect_finite_at_least(0, "--weight-decay", o.weight_decay);
  expect(o.weight_decay == 0 || o.kind == "adamw", "--weight-decay", "0 with --optimizer adam (adamw decays weights)",
         o.weight_decay);
  expect_finite_at_least(0, "--clip-norm", o.clip_norm);
  expect_fraction("--ema", o.ema);
  expect_one_of({"inverse-sqrt", "linear", "constant"}, "--lr-schedule", o.schedule);
  expect_finite_at_least(0, "--lr-warmup-start-rate", o.warmup_initial);
  expect(o.minimum_rate >= 0 && o.minimum_rate <= o.learning_rate, "--lr-minimum",
         concat("a number from 0 to --learn-rate ", o.learning_rate), o.minimum_rate);
  if (o.schedule == "linear") {
    expect(o.total_updates > o.warmup, "--total-updates",
           concat("more than the ", o.warmup, " updates of --lr-warmup with --lr-schedule linear"), o.total_updates);
  }
}

void validate_data(const TrainOptions& o) {
  expect(!o.model.empty(), "--model", "a run directory", "nothing");
  expect(o.train_sets.size() == 1 || o.train_sets.size() == 2, "--train-sets",
         "a source and a target file, or one token store", concat(o.train_sets.size(), " paths"));
  expect(o.valid_sets.size() <= 2, "--valid-sets", "a source and a target file, or one token store",
         concat(o.valid_sets.size(), " paths"));
  expect_at_least(1, "--max-length", o.max_length);
  expect_one_of({"default", "error", "skip"}, "--on-bad-line", o.on_bad_line);
  expect_one_of({"data", "none"}, "--shuffle", o.shuffle);
  expect_at_least(uint64_t{1}, "--mini-batch-words", o.batch_words);
  expect_one_of({"target", "source", "total", "sentences"}, "--batch-unit", o.batch_unit);
  expect_at_least(uint64_t{1}, "--maxi-batch", o.maxi_batch);
}

void validate_periods(const TrainOptions& o) {
  expect(o.display_every.amount > 0, "--disp-freq", "a period above 0", o.display_every.text());
  expect(o.save_every.amount > 0, "--save-freq", "a period above 0", o.save_every.text());
  expect_at_least(0, "--early-stopping", o.early_stopping);
  expect(o.after.amount > 0 || o.early_stopping > 0 || o.stop_after_time_minutes.has_value(), "--after",
         "an end of the run (or --early-stopping or --stop-after-minutes)", o.after.text());
  expect_at_least(0, "--keep-last", o.keep_last);
}

void validate_validation(const TrainOptions& o) {
  for (const std::string& metric : o.valid_metrics) {
    expect_one_of({"cross-entropy", "perplexity", "bleu", "chrf"}, "--valid-metrics", metric);
  }
  const bool validates = !o.valid_sets.empty() && !o.valid_metrics.empty() && o.validate_every.amount > 0;
  expect(o.early_stopping == 0 || validates, "--early-stopping",
         "0 without --valid-sets, --valid-metrics and --valid-freq", o.early_stopping);
  expect_at_least(1, "--valid-beam-size", o.valid_beam);
  expect_finite_at_least(0, "--valid-length-penalty", o.valid_length_penalty);
  expect_at_least(uint64_t{1}, "--valid-mini-batch", o.valid_mini_batch);
}

}  // namespace

void TrainOptions::validate() const {
  validate_data(*this);
  gyre::validate(optimizer);
  expect_fraction("--label-smoothing", label_smoothing);
  expect_at_least(1, "--optimizer-delay", accumulation);
  expect_at_least(0, "--shards", shards);
  parse_device(device, 0);  // throws where it is none
  expect_at_least(0, "--cpu-threads", threads);
  expect(std::isfinite(bucket_mb) && bucket_mb > 0, "--bucket-mb", "a positive number", bucket_mb);
  validate_periods(*this);
  validate_validation(*this);
}

}  // namespace gyre
