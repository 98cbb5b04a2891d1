#include "tools/facts.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/strict_json.h"

namespace gyre {

void print_facts(const nlohmann::ordered_json& facts, bool json) {
  if (json) {
    std::cout << json_text(facts) << '\n';
    return;
  }
  for (const auto& [name, value] : facts.items())
    std::cout << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << '\n';
}

}  // namespace gyre
