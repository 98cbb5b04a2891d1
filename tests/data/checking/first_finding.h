// Finds the findings of checks of data.
#pragma once

#include <string>

#include "gyre/data/checking/finding.h"
#include "tests/errors.h"

// The text of the first finding of a topic with this severity that contains `part`; empty if there is none.
inline std::string finding(const auto& check, gyre::Severity severity, const std::string& topic,
                           const std::string& part = "") {
  for (const gyre::Finding& found : check.findings) {
    if (found.severity == severity && found.topic == topic && contains(found.text, part)) return found.text;
  }
  return "";
}
