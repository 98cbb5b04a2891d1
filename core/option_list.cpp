#include "gyre/core/option_list.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"

namespace gyre {

OptionValue::OptionValue(const EnumPointer& field)
    : OptionValue(
          1, 1, [field](const Words& words) { field.parse("", chosen_word(words.back(), field.names())); },
          [field] { return toml_value(std::string(field.name())); }, [field] { return std::string(field.name()); }) {
  choices = field.names();
  this->field = field;
}

OptionValue switch_value(std::function<void()> set) {
  return {0, 0, [set = std::move(set)](const OptionValue::Words& words) {
            if (parsed<bool>(words.back())) set();
          }};
}

OptionValue one_of(std::string* field, std::vector<std::string> choices) {
  OptionValue value(field);
  value.read = [field, choices](const OptionValue::Words& words) { *field = chosen_word(words.back(), choices); };
  value.choices = std::move(choices);
  return value;
}

std::string Option::name() const {
  const size_t dashes = names.find("--");
  if (dashes == std::string::npos) return names;
  const size_t begin = dashes + 2;
  return names.substr(begin, names.find(',', begin) - begin);
}

void OptionList::add(OnResume on_resume, Option option) { entries_.push_back({std::move(option), on_resume, group_}); }

Option& OptionList::at(std::string_view name) {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.option.name() == name; });
  require(found != entries_.end(), "[options] there is no option ", name);
  return found->option;
}

void OptionList::check() const {
  for (const auto& [option, on_resume, group] : entries_) {
    const OptionValue& value = option.value;
    if (!value.text) continue;
    const std::string flag = "--" + option.name();
    if (!value.choices.empty()) expect_one_of(value.choices, flag, value.text());
    const std::optional<double> number = value.number ? value.number() : std::nullopt;
    if (option.bounds && number) expect(option.bounds->contain(*number), flag, option.bounds->expected, value.text());
  }
}

}  // namespace gyre
