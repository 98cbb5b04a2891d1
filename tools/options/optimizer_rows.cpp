#include "tools/options/optimizer_rows.h"

#include <algorithm>
#include <sstream>

#include "gyre/train/optim/update_rule.h"

namespace gyre {
namespace {

using Values = std::vector<std::string>;

// Reads "(0.9, 0.98)" as in fairseq, or plain numbers.
std::vector<double> numbers_in(const Values& values, size_t count) {
  std::string text;
  for (const auto& value : values) text += value + " ";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '(' || c == ')' || c == ','; }, ' ');
  std::vector<double> numbers;
  std::istringstream words(text);
  for (std::string word; words >> word;) numbers.push_back(parsed<double>(word));
  if (numbers.size() != count) throw UsageError("expected ", count, " numbers, got ", numbers.size());
  return numbers;
}

// Reads PATTERN=NUMBER.
PatternValue pattern_value(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("expected PATTERN=NUMBER such as 'encoder.layers.0.*=0.1', got '", text, "'");
  return {text.substr(0, equals), parsed<double>(text.substr(equals + 1))};
}

void add_pattern_row(OptionTable& table, const std::string& name, std::vector<PatternValue>& field,
                     const std::string& help) {
  table.add_custom(
      name, 1, OptionTable::kAnyNumber, "PATTERN=NUMBER...", help,
      [&field](const Values& values) {
        field.clear();
        for (const std::string& value : values) field.push_back(pattern_value(value));
      },
      [&field] {
        Values texts;
        for (const PatternValue& of : field) texts.push_back(of.pattern + "=" + toml_value(of.value));
        return toml_value(texts);
      });
}

// Learning rates and weight decay by parameter.
void add_group_rows(OptionTable& table, OptimizerOptions& a) {
  add_pattern_row(table, "--decay-for", a.decays,
                  "weight decay of the parameters whose names match the pattern, with the wildcards * and ?, such as "
                  "'*embed_*=0'; the last match counts");
  add_pattern_row(table, "--rate-for", a.rate_factors,
                  "factor of the learning rate of the parameters whose names match the pattern; the last match counts");
  table.add("--freeze", a.frozen, "PATTERN...", "do not train the parameters whose names match a pattern");
  table.add("--layer-decay", a.layer_decay, "NUMBER",
            "factor of the learning rate from each layer to the one below it, down to the embeddings, for fine-tuning "
            "(ELECTRA: 0.8 to 0.9); 1: none");
}

}  // namespace

void add_optimizer_rows(OptionTable& table, OptimizerOptions& a) {
  table.group("Optimizer");
  table.add_choice(
      "--optimizer,-o", a.kind, update_rule_names(),
      "adamw: Adam with decoupled weight decay; muon: orthogonal updates of the weights of linear layers, AdamW for "
      "other parameters; normuon: Muon with normalized rows");
  table.add_custom(
      "--optimizer-params", 3, 3, "BETA1 BETA2 EPSILON",
      "beta1, beta2 and epsilon of Adam; lion has the first two, by default 0.9 and 0.99",
      [&a](const Values& values) {
        const auto n = numbers_in(values, 3);
        a.beta1 = n[0], a.beta2 = n[1], a.epsilon = n[2];
      },
      [&a] {
        return toml_value(std::vector<double>{a.beta1, a.beta2, a.epsilon});
      });
  table.add_custom("--adam-betas", 1, 2, "BETA1 BETA2", "the first two values of --optimizer-params",
                   [&a](const Values& values) {
                     const auto n = numbers_in(values, 2);
                     a.beta1 = n[0], a.beta2 = n[1];
                   });
  table.add_custom("--adam-eps", 1, 1, "NUMBER", "the third value of --optimizer-params",
                   [&a](const Values& values) { a.epsilon = parsed<double>(values.back()); });
  table.add("--momentum", a.momentum, "NUMBER", "momentum of muon and normuon (Nesterov)");
  table.add("--weight-decay", a.weight_decay, "NUMBER",
            "decoupled weight decay of all parameters but norms and biases, except with --optimizer adam; 0: none");
  table.add("--clip-norm", a.clip_norm, "NORM",
            "gradient clipping: maximum global norm of the gradient; 0: no clipping");
  add_group_rows(table, a);
  table.add("--ema,--ema-decay", a.ema, "NUMBER",
            "decay of the exponential moving average of the weights; 0: no average");
  table.add_custom("--exponential-smoothing", 1, 1, "NUMBER",
                   "Marian's factor: 1 minus the decay of --ema; 0: no average", [&a](const Values& values) {
                     const double factor = parsed<double>(values.back());
                     if (factor < 0 || factor > 0.5)
                       throw UsageError("expected Marian's small factor such as 1e-4, got ", factor,
                                        "; for a decay such as 0.999 use --ema");
                     a.ema = factor == 0 ? 0 : 1 - factor;
                   });
}

void check_optimizer_options(const OptionTable& table, OptimizerOptions& options) {
  const bool is_lion = options.kind == "lion";
  if (is_lion && !table.given("optimizer-params") && !table.given("adam-betas"))
    options.beta1 = 0.9, options.beta2 = 0.99;
  if (options.kind == "adam" && !table.given("weight-decay")) options.weight_decay = 0;
  const bool has_momentum = options.kind == "muon" || options.kind == "normuon";
  table.reject_unused("momentum", has_momentum, concat("--optimizer is ", options.kind));
  table.reject_unused("adam-eps", !is_lion, "--optimizer is lion");
}

}  // namespace gyre
