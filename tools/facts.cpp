#include "tools/facts.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace gyre {

void print_facts(const nlohmann::ordered_json& facts, bool json) {
  if (json) {
    std::cout << facts.dump() << '\n';
    return;
  }
  for (const auto& [name, value] : facts.items())
    std::cout << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << '\n';
}

}  // namespace gyre
