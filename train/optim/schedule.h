// The learning rate as a pure function of the update number, without state to save, and its options. A new schedule is
// a function and a row of the table in schedule.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/option_list.h"

namespace gyre {

// Shape of the decay during the cooldown of --lr-schedule wsd.
enum class CooldownForm : uint8_t { sqrt, linear, cosine };
template <>
inline constexpr std::pair<CooldownForm, std::string_view> kEnumNames<CooldownForm>[] = {
    {CooldownForm::sqrt, "1-sqrt"}, {CooldownForm::linear, "linear"}, {CooldownForm::cosine, "cosine"}};

struct ScheduleOptions {
  std::string kind = "inverse-sqrt";  // one of schedule_names()
  double learning_rate = 5e-4;        // the peak, reached after the warm-up
  uint64_t warmup = 4000;             // updates
  double warmup_percent = 0;          // above 0: replaces `warmup` by this percentage of all updates
  // The rate of the first update of the warm-up. The default yields to a lower peak.
  static constexpr double kDefaultWarmupInitial = 1e-7;
  double warmup_initial = kDefaultWarmupInitial;
  double minimum_rate = 0;             // lower bound after the warm-up; cosine, polynomial and wsd end at it
  double power = 1;                    // exponent of polynomial
  std::optional<uint64_t> cooldown{};  // updates of the cooldown of wsd; empty: cooldown_percent of all updates
  double cooldown_percent = 20;
  CooldownForm cooldown_form = CooldownForm::sqrt;
  uint64_t total_updates = 0;  // 0: the end of the run

  // True if the rates depend on the number of updates of the run.
  bool needs_total_updates() const;
  bool warms_up() const { return warmup > 0 || warmup_percent > 0; }
  void declare(OptionList& list);
  void validate() const;  // throws UsageError
};

// Reads the value of --lr-warmup or --lr-cooldown, "4000" or "10%": the number of updates, and the percentage of all
// updates or 0. Throws a UsageError for any other text. updates_or_share_toml() writes it.
std::pair<uint64_t, double> parse_updates_or_share(const std::string& text);
std::string updates_or_share_toml(uint64_t updates, double percent);
// Likewise for --lr-cooldown: the number of updates, or none and the percentage.
std::pair<std::optional<uint64_t>, double> parse_cooldown(const std::string& text);
std::string cooldown_toml(std::optional<uint64_t> updates, double percent);

// The learning rates from an update of the optimizer on. Like every schedule, it does not count skipped updates.
struct RateStage {
  uint64_t begin = 0;   // the number of updates before it
  uint64_t origin = 0;  // the number of updates before the one at which its schedule counts from 0
  ScheduleOptions schedule;
  bool is_own = false;  // the schedule begins with the stage, instead of being that of the run
};

struct Schedule {
  // The learning rate of the update after n finished updates, n >= warmup.
  double (*rate)(const ScheduleOptions& options, double n, double warmup) = nullptr;
  bool needs_total_updates = false;  // whether the number of updates of the run is needed
  bool has_cooldown = false;         // reads the options of the cooldown
  bool has_power = false;            // reads `power`
};

// The choices of --lr-schedule.
std::vector<std::string> schedule_names();
// Throws UsageError for an unknown schedule.
const Schedule& find_schedule(const std::string& name);

// The learning rate of the update after n finished updates (fairseq's num_updates; the first update has n = 0).
//   n < W:    initial + n (lr - initial) / W    the warm-up of all schedules, W = warmup
//   n >= W:   max(schedule(n), minimum_rate)
double learning_rate(const ScheduleOptions& options, uint64_t n);

// The options with the total and the warm-up as numbers of updates, for a run of `run_updates` updates; 0: the number
// is unknown. Throws UsageError if the warm-up takes all updates, or if warm-up and cooldown together exceed the total.
ScheduleOptions resolve_schedule(ScheduleOptions options, uint64_t run_updates);

// The warning about a run, or stages with the same schedule, of this many updates, if they end before the warm-up has
// reached its rate; empty if they do not. `options`: as resolve_schedule() returns them.
std::string long_warmup_warning(const ScheduleOptions& options, uint64_t updates);

// Updates of the cooldown of wsd, for options with the total.
uint64_t cooldown_updates(const ScheduleOptions& options);
// The cooldown of such options, "2000 updates (1-sqrt)"; empty if the schedule has none.
std::string cooldown_text(const ScheduleOptions& options);

}  // namespace gyre
