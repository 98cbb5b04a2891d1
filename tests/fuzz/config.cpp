#include "gyre/models/config/config.h"

#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"

void read_input(std::string_view input) {
  const auto json = gyre::Json::parse(input, nullptr, false);
  if (!json.is_discarded()) gyre::with_defaults(json);
}
