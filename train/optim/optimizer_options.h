// Options of the optimizer and of its learning-rate schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/kernels/kernels.h"
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
};

// A number for the parameters whose names match a pattern with the wildcards * and ? (fnmatch).
struct PatternValue {
  std::string pattern;
  double value = 1;
};

struct OptimizerOptions {
  std::string kind = "adam";                         // one of update_rule_names()
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9;  // constants of Adam; lion uses the first two
  double momentum = 0.95;                            // momentum of Muon
  Precision precision = Precision::fp32;             // precision of Muon's products of matrices (update_rule.h)
  double weight_decay = 0;
  std::vector<PatternValue> decays;        // weight decay of parameters; the last pattern that matches counts
  std::vector<PatternValue> rate_factors;  // factors of the learning rate of parameters, likewise
  double layer_decay = 1;                  // factor of the learning rate from each layer to the one below it
  std::vector<std::string> frozen;         // patterns of parameters that are not trained
  double clip_norm = 0;                    // 0: no clipping
  double ema = 0;                          // decay of the moving average of the weights; 0: no average
  ScheduleOptions schedule;
  std::vector<RateStage> rate_stages;  // stages in order; before the first one, `schedule` holds

  void declare(OptionList& list);  // declares all options but those of the schedule
  void validate() const;           // throws UsageError
};

inline OptimizerOptions in_precision(OptimizerOptions options, Precision precision) {
  options.precision = precision;
  return options;
}

}  // namespace gyre
