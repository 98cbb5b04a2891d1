// The options of a run as its checkpoints record them. Those of a stage have names of their own, which begin with the
// update at which it begins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gyre {

// Values of options as text, by name.
using OptionTexts = std::map<std::string, std::string>;

// The options and properties that influence the result of a run (train/resume.h compares them).
struct RunOptions {
  OptionTexts of_data;  // must not change, because the checkpoint's position in the data depends on them
  OptionTexts of_bits;  // may change, with a warning

  // The value of the option of this name; nullptr if the run has none.
  const std::string* find(const std::string& name) const;
  // --max-length, or the largest one of the stages; nullopt if the task has none.
  std::optional<int> longest_sample() const;
};

// The name of options that hold from this update on. Text may follow it.
std::string stage_option_name(uint64_t begin);

// The name of the option that holds the last update of the stage that begins here. It must not change once the stage
// has ended.
std::string stage_end_option_name(uint64_t begin);

// The name of the option with the schedule of the learning rates of the stage that begins here, and how it ends.
std::string stage_rates_option_name(uint64_t begin);
inline constexpr std::string_view kStageRates = ", schedule";

// Removes the options of stages that begin after the finished updates.
RunOptions without_later_stages(RunOptions options, uint64_t finished);

// Removes the ends of stages that had not ended when the options were saved.
void remove_open_ends(OptionTexts& saved, OptionTexts& now, uint64_t finished);

}  // namespace gyre
