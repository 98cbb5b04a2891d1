#include "gyre/train/checkpoint/run_options.h"

#include <algorithm>
#include <charconv>

#include "gyre/core/error.h"

namespace gyre {
namespace {

constexpr std::string_view kStagePrefix = "stage from update ", kStageEnd = ", end";

// The number at the beginning of a text, 0 if there is none.
uint64_t number_at(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

const std::string* RunOptions::find(const std::string& name) const {
  for (const OptionTexts* texts : {&of_data, &of_bits})
    if (const auto found = texts->find(name); found != texts->end()) return &found->second;
  return nullptr;
}

std::optional<int> RunOptions::longest_sample() const {
  constexpr std::string_view kLength = "--max-length ";  // which the text of the samples of a stage begins with
  std::optional<int> longest;
  for (const auto& [name, text] : of_data)
    if (name.starts_with(kStagePrefix) && text.starts_with(kLength))
      longest = std::max(longest.value_or(0), int(number_at(std::string_view(text).substr(kLength.size()))));
  if (longest) return longest;
  const std::string* of_run = find("max-length");
  return of_run == nullptr ? std::nullopt : std::optional(std::stoi(*of_run));
}

std::string stage_option_name(uint64_t begin) { return concat(kStagePrefix, begin); }
std::string stage_end_option_name(uint64_t begin) { return stage_option_name(begin) + std::string(kStageEnd); }
std::string stage_rates_option_name(uint64_t begin) { return stage_option_name(begin) + std::string(kStageRates); }

RunOptions without_later_stages(RunOptions options, uint64_t finished) {
  for (OptionTexts* texts : {&options.of_data, &options.of_bits})
    std::erase_if(*texts, [&](const auto& option) {
      const std::string_view name = option.first;
      if (!name.starts_with(kStagePrefix)) return false;
      const uint64_t begin = number_at(name.substr(kStagePrefix.size()));
      return begin > 0 && begin >= finished;
    });
  return options;
}

void remove_open_ends(OptionTexts& saved, OptionTexts& now, uint64_t finished) {
  const auto is_open = [&](const auto& option) {
    return option.first.ends_with(kStageEnd) && number_at(option.second) > finished;
  };
  std::erase_if(saved, is_open);
  std::erase_if(now,
                [&](const auto& option) { return option.first.ends_with(kStageEnd) && !saved.contains(option.first); });
}

}  // namespace gyre
