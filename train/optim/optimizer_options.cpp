#include "gyre/train/optim/optimizer_options.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "gyre/core/option_checks.h"
#include "gyre/train/optim/schedule.h"
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

std::string updates_or_share_text(uint64_t updates, double percent) {
  return percent > 0 ? toml_value(percent) + "%" : toml_value(updates);
}

}  // namespace

std::pair<uint64_t, double> parse_updates_or_share(const std::string& text) {
  const bool is_share = text.ends_with('%');
  if (is_share) return {0, parsed<double>(text.substr(0, text.size() - 1))};
  return {parsed<uint64_t>(text), 0};
}

std::string updates_or_share_toml(uint64_t updates, double percent) {
  const std::string text = updates_or_share_text(updates, percent);
  return percent > 0 ? toml_string(text) : text;
}

std::pair<std::optional<uint64_t>, double> parse_cooldown(const std::string& text) {
  const auto [updates, percent] = parse_updates_or_share(text);
  if (percent != 0) return {std::nullopt, percent};
  return {updates, 0};
}

std::string cooldown_toml(std::optional<uint64_t> updates, double percent) {
  return updates_or_share_toml(updates.value_or(0), updates ? 0 : percent);
}

void ScheduleOptions::declare(OptionList& list) {
  list.group("Learning rate");
  list.add(OnResume::other_bits, "--learn-rate,-l,--lr", &learning_rate, "RATE", "peak learning rate",
           {.bounds = positive(), .also_called = {"learning-rate", "base-lr", "peak-lr", "max-lr"}});
  list.add(
      OnResume::other_bits, "--lr-schedule,--lr-scheduler", one_of(&kind, schedule_names()),
      "learning rate schedule after the warm-up; linear, cosine, polynomial and wsd (warm-up, stable, decay) end "
      "at --total-updates",
      OptionDetails{.also_called = {"lr-scheduler-type", "lr-decay-style", "decay-type", "decay-lr", "lr-decay-type"},
                    .values_called = {{"inverse-sqrt", {"lr-decay-inv-sqrt"}}}});
  list.add(
      OnResume::other_bits, "--lr-warmup,--warmup-updates",
      {1, 1, [this](const Words& words) { std::tie(warmup, warmup_percent) = parse_updates_or_share(words.back()); },
       [this] { return updates_or_share_toml(warmup, warmup_percent); },
       [this] { return updates_or_share_text(warmup, warmup_percent); }},
      "UPDATES",
      "linear warm-up to the peak learning rate; 10%: share of all updates, the default with a pretrained model",
      {.also_called = {"warmup-steps", "warmup-iters", "lr-warmup-iters", "lr-warmup-steps", "lr-warmup-samples",
                       "num-warmup-steps", "warmup"},
       .values_called = {{"10%", {"warmup-ratio", "lr-warmup-fraction", "warmup-fraction"}}}});
  list.add(OnResume::other_bits, "--lr-warmup-start-rate,--warmup-init-lr", &warmup_initial, "RATE",
           "initial learning rate of the warm-up",
           {.bounds = finite_at_least(0), .unused = [this] { return warms_up() ? "" : "--lr-warmup is 0"; }});
  list.add(
      OnResume::other_bits, "--lr-minimum,--stop-min-lr,--min-lr,--end-learning-rate", &minimum_rate, "RATE",
      "minimum learning rate, at which cosine, polynomial and wsd end",
      {.elsewhere = {
           {{"min-lr", "stop-min-lr"}, "fairseq", "training stops at this rate", "it is the minimum learning rate"}}});
  list.add(OnResume::other_bits, "--total-updates,--total-num-update", &total_updates, "UPDATES",
           "update at which --lr-schedule ends; 0: the end of the run (--after)",
           {.unused = [this] { return needs_total_updates() ? "" : concat("--lr-schedule ", kind, " does not end"); },
            .also_called = {"lr-decay-iters", "lr-decay-steps"}});
  list.add(OnResume::other_bits, "--lr-power,--power", &power, "NUMBER",
           "exponent of --lr-schedule polynomial; 1: linear",
           {.bounds = positive(),
            .unused = [this] { return find_schedule(kind).has_power ? "" : "--lr-schedule is not polynomial"; }});
  const auto without_cooldown = [this] { return find_schedule(kind).has_cooldown ? "" : "--lr-schedule is not wsd"; };
  list.add(OnResume::other_bits, "--lr-cooldown",
           {1, 1, [this](const Words& words) { std::tie(cooldown, cooldown_percent) = parse_cooldown(words.back()); },
            [this] { return cooldown_toml(cooldown, cooldown_percent); }, [this] { return cooldown_text(*this); }},
           "UPDATES", "updates of the decay at the end of --lr-schedule wsd; 20%: share of all updates",
           {.unused = without_cooldown,
            .values_called = {{"10%", {"lr-scheduler.decay-ratio", "decay-ratio", "wsd-decay-ratio"}}}});
  // The text of --lr-cooldown has the form, so that a change of it is reported there.
  list.add(OnResume::same_bits, "--lr-cooldown-form", &cooldown_form, "shape of the decay during the cooldown",
           {.unused = without_cooldown});
}

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

bool ScheduleOptions::needs_total_updates() const {
  return find_schedule(kind).needs_total_updates || warmup_percent > 0;
}

void ScheduleOptions::validate() const {
  OptionList::of(*this).check();
  expect(!warms_up() || warmup_initial <= std::max(learning_rate, kDefaultWarmupInitial), "--lr-warmup-start-rate",
         concat("a number up to --learn-rate ", learning_rate, ", to which the warm-up rises"), warmup_initial);
  expect(minimum_rate >= 0 && minimum_rate <= learning_rate, "--lr-minimum",
         concat("a number from 0 to --learn-rate ", learning_rate), minimum_rate);
  expect(warmup_percent >= 0 && warmup_percent < 100, "--lr-warmup", "a percentage of at least 0% and below 100%",
         concat(warmup_percent, "%"));
  expect(cooldown_percent >= 0 && cooldown_percent <= 100, "--lr-cooldown", "a percentage from 0% to 100%",
         concat(cooldown_percent, "%"));
  expect(!needs_total_updates() || total_updates == 0 || warmup_percent > 0 || total_updates > warmup,
         "--total-updates", concat("more than the ", warmup, " updates of --lr-warmup with --lr-schedule ", kind),
         total_updates);
}

void OptimizerOptions::validate() const {
  make_update_rule(*this);  // checks the options of the rule
  schedule.validate();
  for (const RateStage& stage : rate_stages) stage.schedule.validate();
  OptionList::of(*this).check();
  for (const PatternValue& of : decays) expect_finite_at_least(0, concat("--decay-for ", of.pattern), of.value);
  for (const PatternValue& of : rate_factors) expect_finite_at_least(0, concat("--rate-for ", of.pattern), of.value);
}

}  // namespace gyre
