#include "tools/command_line/given_names.h"

#include <cctype>
#include <string>
#include <typeinfo>

#include "gyre/core/error.h"

namespace gyre {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

// Replaces whole names only: --vocab is a part of --vocab-size.
void replace_name(std::string& text, const std::string& name, const std::string& other) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const size_t end = at + name.size();
    const bool is_whole = (at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || !is_of_name(text[end]));
    if (is_whole) text.replace(at, name.size(), other);
    at += is_whole ? other.size() : name.size();
  }
}

// The message with the names by which options were given.
std::string in_given_names(std::string message, const OptionTable& table) {
  for (const OptionDescription& option : table.describe()) {
    if (option.is_positional()) continue;
    for (const std::string& name : option.names) {
      const bool is_alias = name.starts_with("--") && name != option.name();
      if (is_alias && table.given_as(name.substr(2))) replace_name(message, option.name(), name);
    }
  }
  return message;
}

}  // namespace

int with_given_names(const OptionTable& table, const std::function<int()>& command) {
  try {
    return command();
  } catch (const UsageError& error) {
    throw UsageError(in_given_names(error.what(), table));
  } catch (const Error& error) {
    if (typeid(error) != typeid(Error)) throw;  // a new Error would lose the kind, such as that of a failed rank
    throw Error(in_given_names(error.what(), table));
  }
}

}  // namespace gyre
