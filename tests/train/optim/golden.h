// The golden file of optimizers, which tests/train/golden/make_optimizers.py writes.
#pragma once

#include <nlohmann/json.hpp>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "tests/source_dir.h"

namespace gyre::test {

inline const Json& optimizer_golden() {
  static const auto values = Json::parse(read_file(source_dir() / "tests/train/golden/optimizers.json"));
  return values;
}

}  // namespace gyre::test
