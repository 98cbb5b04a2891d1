// The learning rate as a pure function of the update number, without state to save. A new schedule is a function and a
// row of the table in schedule.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/train/optim/optimizer_options.h"

namespace gyre {

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
// The rate by the schedule of the stage that the update belongs to.
double learning_rate(const OptimizerOptions& options, uint64_t n);

// The options with the total and the warm-up as numbers of updates, for a run of `run_updates` updates; 0: the number
// is unknown. Throws UsageError if the warm-up takes all updates, or if warm-up and cooldown together exceed the total.
ScheduleOptions resolve_schedule(ScheduleOptions options, uint64_t run_updates);

// The warning about a run, or stages with the same schedule, of this many updates, if they end before the warm-up has
// reached its rate; empty if they do not. `options`: as resolve_schedule() returns them.
std::string long_warmup_warning(const ScheduleOptions& options, uint64_t updates);

// The rate at a share of the way from the minimum (0) to the peak (1).
double rate_at(const ScheduleOptions& options, double share);
// Half a period of a cosine, (1 + cos(pi t)) / 2: from 1 at t = 0 to 0 at t = 1.
double half_cosine(double t);

// Updates of the cooldown of wsd, for options with the total.
uint64_t cooldown_updates(const ScheduleOptions& options);
// The cooldown of such options, "2000 updates (1-sqrt)"; empty if the schedule has none.
std::string cooldown_text(const ScheduleOptions& options);

}  // namespace gyre
