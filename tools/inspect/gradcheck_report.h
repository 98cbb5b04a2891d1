// What gyre gradcheck found, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"

namespace gyre {

struct GradcheckReport {
  struct Row {
    std::string name;  // of an op with its inputs, or of a parameter with itself
    std::vector<GradcheckResult> results;
    bool passed() const { return all_passed(results); }
  };
  bool of_ops = true;
  std::vector<Row> rows;

  bool passed() const;
  // A line for each row, those of failed inputs below an op's, the `worst` entries of all, and a summary.
  void print(size_t worst) const;
  // `facts` with the same.
  nlohmann::ordered_json to_json(nlohmann::ordered_json facts, size_t worst) const;
};

}  // namespace gyre
