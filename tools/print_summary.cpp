#include "tools/print_summary.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

void print_summary(const Json& summary, bool json) {
  if (json) {
    std::cout << json_text(summary) << '\n';
    return;
  }
  for (const auto& [name, value] : summary.items())
    std::cout << printable_line(concat(name, ": ", value.is_string() ? value.get<std::string>() : json_text(value)))
              << '\n';
}

}  // namespace gyre
