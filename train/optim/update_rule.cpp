#include "gyre/train/optim/update_rule.h"

#include "gyre/core/option_checks.h"

namespace gyre {

using RuleMaker = std::unique_ptr<UpdateRule>(const OptimizerOptions&);

#define GYRE_UPDATE_RULE(name, function) RuleMaker function;
#include "gyre/train/optim/update_rules.inc"
#undef GYRE_UPDATE_RULE

#define GYRE_UPDATE_RULE(name, function) {name, function},
static const struct {
  const char* name;
  RuleMaker* make;
} kRules[] = {
#include "gyre/train/optim/update_rules.inc"
};
#undef GYRE_UPDATE_RULE

std::vector<std::string> update_rule_names() {
  std::vector<std::string> names;
  for (const auto& rule : kRules) names.emplace_back(rule.name);
  return names;
}

std::unique_ptr<UpdateRule> make_update_rule(const OptimizerOptions& options) {
  expect_one_of(update_rule_names(), "--optimizer", options.kind);
  for (const auto& rule : kRules)
    if (options.kind == rule.name) return rule.make(options);
  return nullptr;
}

}  // namespace gyre
