// Reads the golden values of tests/models/golden, and compares results with them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/tensor.h"
#include "tests/source_dir.h"

namespace gyre::test {

inline Json read_golden(const std::string& name) {
  return Json::parse(read_file(source_dir() / "tests/models/golden" / name));
}

inline double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-7 : 2e-4; }

inline void check_close(const Tensor& got, const Json& golden) {
  const auto expected = golden.get<std::vector<double>>();
  const Tensor wide = got.to(DType::f64);
  REQUIRE(wide.size() == int64_t(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(wide.data<double>()[i] - expected[i]) <
          tolerance(got.dtype()) * std::max(1.0, std::abs(expected[i])));
  }
}

}  // namespace gyre::test
