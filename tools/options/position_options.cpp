#include "tools/options/position_options.h"

#include <algorithm>
#include <variant>

#include "gyre/models/position/position.h"

namespace gyre {

namespace {

using Options = std::vector<PositionOption>;
using Scope = PositionOptionScope;

// "shaw_clip" -> "shaw-clip"
std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// "--max-positions,--max-source-positions". A boolean that is true by default also has a spelling that turns it off.
std::string names_of(const PositionOption& option) {
  std::string names = "--" + flag_of(option.name);
  for (const std::string& alias : option.aliases) names += ",--" + flag_of(alias);
  const auto* boolean = std::get_if<bool*>(&option.value);
  if (boolean != nullptr && **boolean) names += ",!--no-" + flag_of(option.name);
  return names;
}

std::string text_of(const PositionOption& option) {
  return std::visit(
      [](auto value) {
        if constexpr (std::is_pointer_v<decltype(value)>) {
          return toml_value(*value);
        } else {
          return std::string(value.name());
        }
      },
      option.value);
}

void add_words(OptionTable& table, const std::string& names, const EnumPointer& value, const std::string& help) {
  table.add_custom(
      names, 1, 1, "WORD", help + " (" + value.choices() + ")",
      [value, names](const std::vector<std::string>& values) {
        value.parse(names, chosen_word(values.back(), value.names()));
      },
      [value] { return toml_value(std::string(value.name())); });
  table.set_completions(value.names());
}

void add_row(OptionTable& table, const PositionOption& option) {
  const std::string names = names_of(option);
  std::visit(
      [&](auto value) {
        using T = decltype(value);
        if constexpr (std::is_same_v<T, EnumPointer>) {
          add_words(table, names, value, option.help);
        } else if constexpr (std::is_same_v<T, bool*>) {
          table.add_flag(names, *value, option.help);
        } else if constexpr (std::is_same_v<T, std::vector<double>*>) {
          table.add_list(names, *value, option.unit, option.help);
        } else {
          table.add(names, *value, option.unit, option.help);
        }
      },
      option.value);
}

void add_rows(OptionTable& table, const Options& options, Scope scope) {
  for (const PositionOption& option : options)
    if (option.scope == scope) add_row(table, option);
}

// Options that the table does not have cannot have been given.
void reject(const OptionTable& table, const std::string& name, const std::string& reason) {
  if (table.has(flag_of(name))) table.reject_unused(flag_of(name), false, reason);
}

void reject_disabled(const OptionTable& table, const Options& options) {
  for (const PositionOption& option : options) {
    for (const std::string& name : option.disables)
      reject(table, name, "--" + flag_of(option.name) + " is " + text_of(option));
  }
}

bool contains(const Options& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(), [&](const PositionOption& option) { return option.name == name; });
}

}  // namespace

void add_rope_options(OptionTable& table, RopeOptions& options) {
  add_rows(table, options.describe(), Scope::encoding);
}

void add_position_options(OptionTable& table, PositionConfig& config) {
  const auto add_other_name = [&](const std::string& names, const std::string& program, const std::string& encoding) {
    table.add_switch(names, program + "'s name for --position " + encoding,
                     [&config, encoding] { config.encoding = encoding; });
  };
  table.group("Position encoding");
  table.add_choice("--position", config.encoding, position_encoding_names(), "encoding of the order of tokens");
  add_other_name("--transformer-train-position-embeddings", "Marian", "learned");
  add_other_name("--encoder-learned-pos", "fairseq", "learned");
  add_other_name("--transformer-disable-position-embeddings", "Marian", "none");
  add_other_name("--no-token-positional-embeddings", "fairseq", "none");
  for (const Options& group : config.option_groups()) {
    add_rows(table, group, Scope::encoding);
    add_rows(table, group, Scope::training);
  }
}

void add_cross_attention_position_options(OptionTable& table, PositionConfig& config) {
  add_rows(table, config.options(), Scope::cross_attention);
}

void reject_unused_rope_options(const OptionTable& table, const RopeOptions& options) {
  RopeOptions copy = options;
  reject_disabled(table, copy.describe());
}

void reject_unused_position_options(const OptionTable& table, const PositionConfig& config) {
  PositionConfig copy = config;
  const Options read = copy.options_read();
  for (const PositionOption& option : copy.options())
    if (!contains(read, option.name)) reject(table, option.name, "--position is " + config.encoding);
  reject_disabled(table, read);
}

}  // namespace gyre
