// Command-line options of every training run. Binds names, aliases (Marian's and fairseq's), defaults and units to the
// fields of TrainOptions. Each task adds its own options (tools/options/tasks/nmt_options.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/train/options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Task-specific choices and help texts of the common rows.
struct TaskChoices {
  std::vector<std::string> batch_units;
  std::string batch_unit_help;
  std::vector<std::string> valid_metrics;
  std::string learning_rate_help = "peak learning rate";
};

// Reads the value of --lr-warmup or --lr-cooldown, "4000" or "10%": the number of updates, and the percentage of all
// updates or 0. Throws a UsageError for any other text. updates_or_share_toml() writes it.
std::pair<uint64_t, double> parse_updates_or_share(const std::string& text);
std::string updates_or_share_toml(uint64_t updates, double percent);
// Likewise for --lr-cooldown: the number of updates, or none and the percentage.
std::pair<std::optional<uint64_t>, double> parse_cooldown(const std::string& text);
std::string cooldown_toml(std::optional<uint64_t> updates, double percent);

// Adds all rows except those for the data and the vocabulary. `options` must outlive the table.
void add_train_options(OptionTable& table, TrainOptions& options, const TaskChoices& choices);

// Call after resolve(). Stores the resolved options and the notes that the run writes and logs.
void record_train_options(const OptionTable& table, TrainOptions& options);

// Call after resolve(). Unless --lr-warmup is given, sets the default warm-up of a run that starts from a pretrained
// model: kFineTuningWarmup percent of its updates, if their number is known.
void set_fine_tuning_warmup(const OptionTable& table, TrainOptions& options);

// Call after resolve(). Sets the defaults that depend on other options, and throws UsageError for options that were
// given but would have no effect in this run.
void check_train_options(const OptionTable& table, TrainOptions& options);

}  // namespace gyre
