// The results of gyre gradcheck, printed as text or JSON.
#pragma once

#include <string>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"

namespace gyre {

struct GradcheckReport {
  struct Row {
    std::string name;  // an op, with a result per input; or a parameter, with a single result
    std::vector<GradcheckResult> results;
    bool passed() const { return all_passed(results); }
  };
  bool of_ops = true;
  std::vector<Row> rows;

  bool passed() const;
  // Prints a line for each row, with the failed inputs of an op below it, then the `worst` entries of all rows and a
  // summary.
  void print(size_t worst) const;
  // Returns `summary` extended by the same results.
  Json to_json(Json summary, size_t worst) const;
};

}  // namespace gyre
