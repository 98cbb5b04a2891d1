#include "gyre/train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"

namespace gyre {

namespace {

// Each takes the number n of finished updates and the number W of updates of the warm-up, n >= W.

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

static uint64_t share_of(uint64_t updates, double percent) {
  return uint64_t(std::llround(percent / 100 * double(updates)));
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

double rate_at(const ScheduleOptions& o, double share) {
  return o.minimum_rate + (o.learning_rate - o.minimum_rate) * share;
}

double half_cosine(double t) { return (1 + std::cos(std::numbers::pi * t)) / 2; }

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

double learning_rate(const OptimizerOptions& options, uint64_t n) {
  const auto& stages = options.rate_stages;
  const auto next = std::find_if(stages.begin(), stages.end(), [&](const RateStage& stage) { return stage.begin > n; });
  if (next == stages.begin()) return learning_rate(options.schedule, n);
  const RateStage& stage = *std::prev(next);
  return learning_rate(stage.schedule, n - stage.origin);
}

}  // namespace gyre
