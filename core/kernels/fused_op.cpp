#include "gyre/core/kernels/fused_op.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {
namespace {

std::set<FusedOp> ops_of_environment() {
  std::set<FusedOp> ops;
  const char* const value = std::getenv("GYRE_COMPOSED");
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty()) continue;
    bool known = false;
    for (const auto& [op, op_name] : kEnumNames<FusedOp>) {
      if (name != "all" && name != op_name) continue;
      ops.insert(op);
      known = true;
    }
    if (!known) throw UsageError("GYRE_COMPOSED: expected all, or some of ", enum_choices<FusedOp>(), "; got ", name);
  }
  return ops;
}

}  // namespace

bool runs_composed(const Kernels& kernels, FusedOp op) {
  static const std::set<FusedOp> chosen = ops_of_environment();
  return !kernels.has(op) || chosen.contains(op);
}

std::string composed_ops(const Kernels& kernels) {
  std::string names;
  for (const auto& [op, name] : kEnumNames<FusedOp>)
    if (runs_composed(kernels, op)) names += (names.empty() ? "" : ", ") + std::string(name);
  return names.empty() ? "none" : names;
}

}  // namespace gyre
