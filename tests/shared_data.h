// Real files for tests that go without them where they are missing: ../shared/data, beside the repository.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include "tests/report.h"
#include "tests/source_dir.h"

inline std::filesystem::path shared_data() { return source_dir().parent_path() / "shared" / "data"; }

// Whether all of these files or folders of shared_data() are there; if not, the test case is reported as skipped.
inline bool has_shared_data(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::filesystem::exists(shared_data() / name)) continue;
    report_skipped("../shared/data/" + std::string(name) + " is missing");
    return false;
  }
  return true;
}
