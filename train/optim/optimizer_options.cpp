#include "gyre/train/optim/optimizer_options.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gyre/core/option_checks.h"
#include "gyre/train/optim/update_rule.h"

namespace gyre {
namespace {

using Words = OptionValue::Words;

// Reads "(0.9, 0.98)" as in fairseq, or plain numbers.
std::vector<double> numbers_in(const Words& words, size_t count) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '(' || c == ')' || c == ','; }, ' ');
  std::vector<double> numbers;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) numbers.push_back(parsed<double>(word));
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

OptionValue pattern_values(std::vector<PatternValue>* field) {
  return {1, OptionValue::kAnyNumber,
          [field](const Words& words) {
            field->clear();
            for (const std::string& word : words) field->push_back(pattern_value(word));
          },
          [field] {
            Words texts;
            for (const PatternValue& of : *field) texts.push_back(of.pattern + "=" + toml_value(of.value));
            return toml_value(texts);
          },
          [field] {
            std::string text;
            for (const PatternValue& of : *field)
              text += concat(text.empty() ? "" : " ", of.pattern, "=", nlohmann::json(of.value).dump());  // all digits
            return text;
          }};
}

}  // namespace

void OptimizerOptions::declare(OptionList& list) {
  constexpr const char* kAdamUnit = "BETA1 BETA2 EPSILON";
  list.group("Optimizer");
  list.add(OnResume::other_bits, "--optimizer,-o", one_of(&kind, update_rule_names()),
           "adamw: Adam with decoupled weight decay; muon: orthogonal updates of the weights of linear layers, AdamW "
           "for other parameters; normuon: Muon with normalized rows",
           OptionDetails{.also_called = {"optim", "optimizer-type", "optimizer-name", "optimizer.name"}});
  list.add(OnResume::other_bits, "--optimizer-params",
           {3, 3,
            [this](const Words& words) {
              const std::vector<double> n = numbers_in(words, 3);
              beta1 = n[0], beta2 = n[1], epsilon = n[2];
            },
            [this] {
              return toml_value(std::vector{beta1, beta2, epsilon});
            },
            [this] {
              return option_text(std::vector{beta1, beta2, epsilon});
            }},
           kAdamUnit, "beta1, beta2 and epsilon of Adam; lion has the first two, by default 0.9 and 0.99",
           {.values_called = {{kAdamUnit, {"adam-beta1", "adam-beta2", "beta1", "beta2"}}}});
  list.add_shorthand("--adam-betas",
                     {1, 2,
                      [this](const Words& words) {
                        const std::vector<double> n = numbers_in(words, 2);
                        beta1 = n[0], beta2 = n[1];
                      }},
                     "BETA1 BETA2", "the first two values of --optimizer-params");
  list.add_shorthand("--adam-eps", {1, 1, [this](const Words& words) { epsilon = parsed<double>(words.back()); }},
                     "NUMBER", "the third value of --optimizer-params",
                     {.unused = [this] { return kind == "lion" ? "--optimizer is lion" : ""; },
                      .also_called = {"adam-epsilon", "eps"}});
  list.add(OnResume::other_bits, "--momentum", &momentum, "NUMBER", "momentum of muon and normuon (Nesterov)",
           {.unused = [this] { return kind == "muon" || kind == "normuon" ? "" : concat("--optimizer is ", kind); }});
  list.add(OnResume::other_bits, "--weight-decay", &weight_decay, "NUMBER",
           "decoupled weight decay of all parameters but norms and biases, except with --optimizer adam; 0: none",
           {.bounds = finite_at_least(0)});
  list.add(OnResume::other_bits, "--clip-norm", &clip_norm, "NORM",
           "gradient clipping: maximum global norm of the gradient; 0: no clipping",
           {.bounds = finite_at_least(0),
            .also_called = {"max-grad-norm", "grad-clip", "clip-grad", "gradient-clip-val", "max-norm"},
            .elsewhere = {{{"clip-norm"},
                           "Marian",
                           "the norm of the summed gradient of the batch; default 1",
                           "the norm of the mean gradient per predicted token, as in fairseq; default 0 (off)",
                           false}}});
  list.add(OnResume::other_bits, "--decay-for", pattern_values(&decays), "PATTERN=NUMBER...",
           "weight decay of the parameters whose names match the pattern, with the wildcards * and ?, such as "
           "'*embed_*=0'; the last match counts");
  list.add(OnResume::other_bits, "--rate-for", pattern_values(&rate_factors), "PATTERN=NUMBER...",
           "factor of the learning rate of the parameters whose names match the pattern; the last match counts");
  list.add(OnResume::other_bits, "--freeze", &frozen, "PATTERN...",
           "do not train the parameters whose names match a pattern");
  list.add(OnResume::other_bits, "--layer-decay", &layer_decay, "NUMBER",
           "factor of the learning rate from each layer to the one below it, down to the embeddings, for fine-tuning "
           "(ELECTRA: 0.8 to 0.9); 1: none",
           {.bounds = Bounds{
                .expected = "a number above 0, at most 1", .minimum = 0, .maximum = 1, .includes_minimum = false}});
  list.add(OnResume::other_bits, "--ema,--ema-decay", &ema, "NUMBER",
           "decay of the exponential moving average of the weights; 0: no average", {.bounds = fraction()});
  list.add_shorthand("--exponential-smoothing",
                     {1, 1,
                      [this](const Words& words) {
                        const double factor = parsed<double>(words.back());
                        if (factor < 0 || factor > 0.5)
                          throw UsageError("expected Marian's small factor such as 1e-4, got ", factor,
                                           "; for a decay such as 0.999 use --ema");
                        ema = factor == 0 ? 0 : 1 - factor;
                      }},
                     "NUMBER", "Marian's factor: 1 minus the decay of --ema; 0: no average");
}

void OptimizerOptions::validate() const {
  make_update_rule(*this);  // checks the options of the rule
  schedule.validate();
  for (const RateStage& stage : rate_stages) stage.schedule.validate();
  OptionList::of(*this).check();
  for (const PatternValue& of : decays) expect_finite_at_least(0, concat("--decay-for ", of.pattern), of.value);
  for (const PatternValue& of : rate_factors) expect_finite_at_least(0, concat("--rate-for ", of.pattern), of.value);
}

double learning_rate(const OptimizerOptions& options, uint64_t n) {
  const auto& stages = options.rate_stages;
  const auto next = std::find_if(stages.begin(), stages.end(), [&](const RateStage& stage) { return stage.begin > n; });
  if (next == stages.begin()) return learning_rate(options.schedule, n);
  const RateStage& stage = *std::prev(next);
  return learning_rate(stage.schedule, n - stage.origin);
}

}  // namespace gyre
