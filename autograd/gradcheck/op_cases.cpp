#include "gyre/autograd/gradcheck/op_cases.h"

#include <utility>

#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre {

std::vector<OpCase> op_cases() {
  std::vector<OpCase> rows;
  op_rows::add_matrices(rows);
  op_rows::add_norms(rows);
  op_rows::add_embeddings(rows);
  op_rows::add_segment_means(rows);
  op_rows::add_rope(rows);
  op_rows::add_attention(rows);
  op_rows::add_linear_attention(rows);
  op_rows::add_losses(rows);
  op_rows::add_composites(rows);
  op_rows::add_elementary(rows);
  return rows;
}

std::vector<OpCase> op_cases(std::string_view name) {
  std::vector<OpCase> chosen;
  std::string ops;  // names for the error
  for (OpCase& row : op_cases()) {
    const std::string op = row.name.substr(0, row.name.find('/'));
    if (!ops.ends_with(op)) ops += (ops.empty() ? "" : ", ") + op;
    if (name == "all" || name == row.name || name == op) chosen.push_back(std::move(row));
  }
  if (chosen.empty()) throw UsageError("[gradcheck] expected all or one of ", ops, "; got ", name);
  return chosen;
}

std::vector<OpCheck> run_gradcheck(std::string_view name, Kernels& kernels, const GradcheckOptions& options,
                                   DType dtype) {
  std::vector<OpCheck> checks;
  for (const OpCase& row : op_cases(name)) {
    checks.push_back({row.name, gradcheck(kernels, row.op, row.inputs, options, dtype)});
  }
  return checks;
}

}  // namespace gyre
