#include "gyre/core/kernels/fused_op.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_values.h"

namespace gyre {
namespace {

std::string names_of(const std::vector<FusedOp*>& ops) {
  std::vector<std::string> names;
  for (const FusedOp* op : ops) names.emplace_back(op->name);
  return joined(names);
}

// The names that GYRE_COMPOSED has, which are names of `ops` or "all".
std::set<std::string_view> names_in_environment(const std::vector<FusedOp*>& ops) {
  std::set<std::string_view> names;
  const char* const value = std::getenv("GYRE_COMPOSED");
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty()) continue;
    for (const FusedOp* op : ops)
      if (name == "all" || name == op->name) names.insert(op->name);
    if (!names.contains(name) && name != "all")
      throw UsageError("GYRE_COMPOSED: expected all, or some of ", names_of(ops), "; got ", name);
  }
  return names;
}

}  // namespace

FusedOp::FusedOp(std::vector<FusedOp*>& ops, std::string_view op_name, bool on_gpus)
    : name(op_name), gpus_have_kernels(on_gpus), all_(ops) {
  ops.push_back(this);
}

bool FusedOp::runs_composed() const {
  // All backends have the same ops, with the same literals as names.
  static const std::set<std::string_view> chosen = names_in_environment(all_);
  return !has_kernels || chosen.contains(name);
}

std::string composed_ops(const Kernels& kernels) {
  std::vector<FusedOp*> composed = kernels.fused_ops();
  std::erase_if(composed, [](const FusedOp* op) { return !op->runs_composed(); });
  return composed.empty() ? "none" : names_of(composed);
}

}  // namespace gyre
