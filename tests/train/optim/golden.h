// The golden file of optimizers, which tests/train/golden/make_optimizers.py writes.
#pragma once

#include <nlohmann/json.hpp>

#include "gyre/core/io/file.h"
#include "tests/source_dir.h"

namespace gyre::test {

inline const nlohmann::ordered_json& optimizer_golden() {
  static const auto values =
      nlohmann::ordered_json::parse(read_file(source_dir() / "tests/train/golden/optimizers.json"));
  return values;
}

}  // namespace gyre::test
