// Real data sets for tests, in ../shared/data relative to the repository. Tests skip their checks if it is missing.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include "tests/report.h"
#include "tests/source_dir.h"

inline std::filesystem::path shared_data() { return source_dir().parent_path() / "shared" / "data"; }

// Returns whether all of these files or folders of shared_data() exist. If not, reports the test case as skipped.
inline bool require_shared_data(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::filesystem::exists(shared_data() / name)) continue;
    report_skipped("../shared/data/" + std::string(name) + " is missing");
    return false;
  }
  return true;
}
