#include "gyre/train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <tuple>

#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"

namespace gyre {
namespace {

using Words = OptionValue::Words;

// The rate at a share of the way from the minimum (0) to the peak (1).
double rate_at(const ScheduleOptions& o, double share) {
  return o.minimum_rate + (o.learning_rate - o.minimum_rate) * share;
}

// Half a period of a cosine, from 1 at t = 0 to 0 at t = 1.
double half_cosine(double t) { return (1 + std::cos(std::numbers::pi * t)) / 2; }

// Each schedule takes the number n of finished updates and the number W of updates of the warm-up, n >= W.

// The peak rate after the warm-up.
double constant(const ScheduleOptions& o, double /*n*/, double /*warmup*/) { return o.learning_rate; }

// fairseq's inverse square root: lr sqrt(W) / sqrt(n), with W at least 1.
double inverse_sqrt(const ScheduleOptions& o, double n, double warmup) {
  const double peak = std::max(warmup, 1.0);
  // fairseq's order of operations: lr * sqrt(W) first.
  return o.learning_rate * std::sqrt(peak) / std::sqrt(std::max(n, peak));
}

// A linear fall to zero at total_updates: lr (total - n) / (total - W).
double linear(const ScheduleOptions& o, double n, double warmup) {
  const auto total = static_cast<double>(o.total_updates);
  return n >= total ? 0 : o.learning_rate * (total - n) / (total - warmup);
}

// fairseq's polynomial_decay: min + (lr - min) ((total - n) / (total - W))^power.
double polynomial(const ScheduleOptions& o, double n, double warmup) {
  const auto total = static_cast<double>(o.total_updates);
  return n >= total ? o.minimum_rate : rate_at(o, std::pow((total - n) / (total - warmup), o.power));
}

// Half a cosine from the peak to the minimum rate at total_updates (Loshchilov & Hutter 2017, without restarts):
//   min + (lr - min) (1 + cos(pi t)) / 2, with t = (n - W) / (total - W)
double cosine(const ScheduleOptions& o, double n, double warmup) {
  const auto total = static_cast<double>(o.total_updates);
  return n >= total ? o.minimum_rate : rate_at(o, half_cosine((n - warmup) / (total - warmup)));
}

// Warm-up, stable, decay: the peak rate until a cooldown of the last C updates, which falls to the minimum rate (Hu et
// al. 2024, MiniCPM; the form 1 - sqrt: Haegele et al. 2024, arXiv 2405.18392):
//   n < total - C:   lr
//   otherwise:       min + (lr - min) decay(x), with x = (n - (total - C)) / C
//   decay(x):        1 - sqrt(x), 1 - x, or (1 + cos(pi x)) / 2
// Without a cooldown, C = 0, the rate stays at its peak.
double wsd(const ScheduleOptions& o, double n, double /*warmup*/) {
  const auto total = static_cast<double>(o.total_updates), cooldown = static_cast<double>(cooldown_updates(o));
  const double begin = total - cooldown;
  if (n <= begin || cooldown == 0) return o.learning_rate;
  if (n >= total) return o.minimum_rate;
  const double x = (n - begin) / cooldown;
  switch (o.cooldown_form) {
    case CooldownForm::sqrt:
      return rate_at(o, 1 - std::sqrt(x));
    case CooldownForm::linear:
      return rate_at(o, 1 - x);
    case CooldownForm::cosine:
      return rate_at(o, half_cosine(x));
  }
  return o.minimum_rate;
}

uint64_t share_of(uint64_t updates, double percent) { return uint64_t(std::llround(percent / 100 * double(updates))); }

std::string updates_or_share_text(uint64_t updates, double percent) {
  return percent > 0 ? toml_value(percent) + "%" : toml_value(updates);
}

constexpr struct {
  const char* name;
  Schedule schedule;
} kSchedules[] = {
    {"inverse-sqrt", {.rate = inverse_sqrt}},
    {"linear", {.rate = linear, .needs_total_updates = true}},
    {"constant", {.rate = constant}},
    {"cosine", {.rate = cosine, .needs_total_updates = true}},
    {"polynomial", {.rate = polynomial, .needs_total_updates = true, .has_power = true}},
    {"wsd", {.rate = wsd, .needs_total_updates = true, .has_cooldown = true}},
};

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& row : kSchedules) names.emplace_back(row.name);
  return names;
}

const Schedule& find_schedule(const std::string& name) {
  expect_one_of(schedule_names(), "--lr-schedule", name);
  return std::find_if(std::begin(kSchedules), std::end(kSchedules), [&](const auto& row) { return row.name == name; })
      ->schedule;
}

std::pair<uint64_t, double> parse_updates_or_share(const std::string& text) {
  const bool is_share = text.ends_with('%');
  if (is_share) return {0, parsed<double>(text.substr(0, text.size() - 1))};
  return {parsed<uint64_t>(text), 0};
}

std::string updates_or_share_toml(uint64_t updates, double percent) {
  const std::string text = updates_or_share_text(updates, percent);
  return percent > 0 ? toml_string(text) : text;
}

std::pair<std::optional<uint64_t>, double> parse_cooldown(const std::string& text) {
  const auto [updates, percent] = parse_updates_or_share(text);
  if (percent != 0) return {std::nullopt, percent};
  return {updates, 0};
}

std::string cooldown_toml(std::optional<uint64_t> updates, double percent) {
  return updates_or_share_toml(updates.value_or(0), updates ? 0 : percent);
}

void ScheduleOptions::declare(OptionList& list) {
  list.group("Learning rate");
  list.add(OnResume::other_bits, "--learn-rate,-l,--lr", &learning_rate, "RATE", "peak learning rate",
           {.bounds = positive(), .also_called = {"learning-rate", "base-lr", "peak-lr", "max-lr"}});
  list.add(
      OnResume::other_bits, "--lr-schedule,--lr-scheduler", one_of(&kind, schedule_names()),
      "learning rate schedule after the warm-up; linear, cosine, polynomial and wsd (warm-up, stable, decay) end "
      "at --total-updates",
      OptionDetails{.also_called = {"lr-scheduler-type", "lr-decay-style", "decay-type", "decay-lr", "lr-decay-type"},
                    .values_called = {{"inverse-sqrt", {"lr-decay-inv-sqrt"}}}});
  list.add(
      OnResume::other_bits, "--lr-warmup,--warmup-updates",
      {1, 1, [this](const Words& words) { std::tie(warmup, warmup_percent) = parse_updates_or_share(words.back()); },
       [this] { return updates_or_share_toml(warmup, warmup_percent); },
       [this] { return updates_or_share_text(warmup, warmup_percent); }},
      "UPDATES",
      "linear warm-up to the peak learning rate; 10%: share of all updates, the default with a pretrained model",
      {.also_called = {"warmup-steps", "warmup-iters", "lr-warmup-iters", "lr-warmup-steps", "lr-warmup-samples",
                       "num-warmup-steps", "warmup"},
       .values_called = {{"10%", {"warmup-ratio", "lr-warmup-fraction", "warmup-fraction"}}}});
  list.add(OnResume::other_bits, "--lr-warmup-start-rate,--warmup-init-lr", &warmup_initial, "RATE",
           "initial learning rate of the warm-up",
           {.bounds = finite_at_least(0), .unused = [this] { return warms_up() ? "" : "--lr-warmup is 0"; }});
  list.add(
      OnResume::other_bits, "--lr-minimum,--stop-min-lr,--min-lr,--end-learning-rate", &minimum_rate, "RATE",
      "minimum learning rate, at which cosine, polynomial and wsd end",
      {.elsewhere = {
           {{"min-lr", "stop-min-lr"}, "fairseq", "training stops at this rate", "it is the minimum learning rate"}}});
  list.add(OnResume::other_bits, "--total-updates,--total-num-update", &total_updates, "UPDATES",
           "update at which --lr-schedule ends; 0: the end of the run (--after)",
           {.unused = [this] { return needs_total_updates() ? "" : concat("--lr-schedule ", kind, " does not end"); },
            .also_called = {"lr-decay-iters", "lr-decay-steps"}});
  list.add(OnResume::other_bits, "--lr-power,--power", &power, "NUMBER",
           "exponent of --lr-schedule polynomial; 1: linear",
           {.bounds = positive(),
            .unused = [this] { return find_schedule(kind).has_power ? "" : "--lr-schedule is not polynomial"; }});
  const auto without_cooldown = [this] { return find_schedule(kind).has_cooldown ? "" : "--lr-schedule is not wsd"; };
  list.add(OnResume::other_bits, "--lr-cooldown",
           {1, 1, [this](const Words& words) { std::tie(cooldown, cooldown_percent) = parse_cooldown(words.back()); },
            [this] { return cooldown_toml(cooldown, cooldown_percent); }, [this] { return cooldown_text(*this); }},
           "UPDATES", "updates of the decay at the end of --lr-schedule wsd; 20%: share of all updates",
           {.unused = without_cooldown,
            .values_called = {{"10%", {"lr-scheduler.decay-ratio", "decay-ratio", "wsd-decay-ratio"}}}});
  // The text of --lr-cooldown has the form, so that a change of it is reported there.
  list.add(OnResume::same_bits, "--lr-cooldown-form", &cooldown_form, "shape of the decay during the cooldown",
           {.unused = without_cooldown});
}

bool ScheduleOptions::needs_total_updates() const {
  return find_schedule(kind).needs_total_updates || warmup_percent > 0;
}

void ScheduleOptions::validate() const {
  OptionList::of(*this).check();
  expect(!warms_up() || warmup_initial <= std::max(learning_rate, kDefaultWarmupInitial), "--lr-warmup-start-rate",
         concat("a number up to --learn-rate ", learning_rate, ", to which the warm-up rises"), warmup_initial);
  expect(minimum_rate >= 0 && minimum_rate <= learning_rate, "--lr-minimum",
         concat("a number from 0 to --learn-rate ", learning_rate), minimum_rate);
  expect(warmup_percent >= 0 && warmup_percent < 100, "--lr-warmup", "a percentage of at least 0% and below 100%",
         concat(warmup_percent, "%"));
  expect(cooldown_percent >= 0 && cooldown_percent <= 100, "--lr-cooldown", "a percentage from 0% to 100%",
         concat(cooldown_percent, "%"));
  expect(!needs_total_updates() || total_updates == 0 || warmup_percent > 0 || total_updates > warmup,
         "--total-updates", concat("more than the ", warmup, " updates of --lr-warmup with --lr-schedule ", kind),
         total_updates);
}

ScheduleOptions resolve_schedule(ScheduleOptions o, uint64_t run_updates) {
  if (!o.needs_total_updates()) return o;
  if (o.total_updates == 0) o.total_updates = run_updates;
  if (o.warmup_percent > 0) {
    o.warmup = share_of(o.total_updates, o.warmup_percent);
    o.warmup_percent = 0;
  }
  if (find_schedule(o.kind).needs_total_updates && o.warmup >= o.total_updates) {
    throw UsageError("[--lr-warmup] expected fewer than all ", o.total_updates, " updates, got ", o.warmup);
  }
  const uint64_t after_warmup = o.total_updates - o.warmup;
  if (find_schedule(o.kind).has_cooldown && cooldown_updates(o) > after_warmup) {
    throw UsageError("[--lr-cooldown] expected at most the ", after_warmup, " updates after --lr-warmup, got ",
                     cooldown_updates(o));
  }
  return o;
}

// The update after n finished ones has the rate of n, so that the first update after the warm-up reaches the peak.
std::string long_warmup_warning(const ScheduleOptions& o, uint64_t updates) {
  if (updates == 0 || updates > o.warmup) return "";
  const double reached = learning_rate(o, updates - 1);
  if (reached >= o.learning_rate) return "";
  return concat("training ends after ", counted(updates, "update"), ", within a warm-up of ", o.warmup,
                ": the learning rate reaches ", reached, " instead of ", o.learning_rate,
                "; --lr-warmup 10% makes the warm-up a tenth of the run");
}

uint64_t cooldown_updates(const ScheduleOptions& o) {
  return o.cooldown ? *o.cooldown : share_of(o.total_updates, o.cooldown_percent);
}

std::string cooldown_text(const ScheduleOptions& o) {
  if (!find_schedule(o.kind).has_cooldown) return "";
  return concat(cooldown_updates(o), " updates (", enum_name(o.cooldown_form), ")");
}

double learning_rate(const ScheduleOptions& options, uint64_t n) {
  const auto done = static_cast<double>(n), warmup = static_cast<double>(options.warmup);
  if (n < options.warmup) {
    const double initial = std::min(options.warmup_initial, options.learning_rate);
    return initial + done * ((options.learning_rate - initial) / warmup);
  }
  return std::max(find_schedule(options.kind).rate(options, done, warmup), options.minimum_rate);
}

}  // namespace gyre
