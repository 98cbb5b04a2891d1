// Position configs for tests, from options as config.json holds them.
#pragma once

#include <string>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config_json.h"

namespace gyre::test {

// Sets the options that `json` has, and no others. Throws as reading a config.json does.
inline void set_options(PositionConfig& config, const Json& json) {
  ConfigReader reader(json, "position");
  reader("encoding", config.encoding);
  const OptionList options = config.options();
  for (const OptionList::Entry& entry : options.entries())
    visit_field(reader, key_of(entry.option), entry.option.value.field);
  reader.refuse_unknown();
}

inline PositionConfig position_config(const std::string& encoding, const Json& options = Json::object()) {
  PositionConfig config(encoding);
  set_options(config, options);
  return config;
}

}  // namespace gyre::test
