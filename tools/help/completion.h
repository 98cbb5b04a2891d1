// Shell completion scripts, generated from the option tables. They complete subcommands, options, and the words, files
// or directories that an option accepts.
#pragma once

#include <cstdint>
#include <string>

#include "tools/command_line/command_description.h"

namespace gyre {

std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);

// Kind of an option's values.
enum class ValueKind : uint8_t { file, directory, word, anything };
inline ValueKind value_kind(const OptionDescription& option) {
  if (!option.choices.empty()) return ValueKind::word;
  const auto says = [&option](const char* word) { return option.unit.find(word) != std::string::npos; };
  if (says("DIRECTORY")) return ValueKind::directory;
  return says("FILE") || says("PATH") || says("PREFIX") || says("SOURCE") ? ValueKind::file : ValueKind::anything;
}

}  // namespace gyre
