#include "gyre/train/tasks/language/language_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gyre/core/option_checks.h"
#include "gyre/data/text/document_text.h"
#include "gyre/train/optim/schedule.h"
#include "gyre/train/tasks/language/language_stages.h"

namespace gyre {

SampleOptions LanguageOptions::samples(SampleOptions::Task task) const {
  return {.task = task,
          .fill = SampleOptions::parse_fill(fill),
          .across_documents = across_documents,
          .documents_apart = documents_attend == "apart",
          .max_length = data.max_length,
          .validation_share = validation_share};
}

namespace {

// A validation set that is there twice would count twice in the mean.
void expect_different(const std::vector<Path>& sets) {
  for (size_t i = 0; i < sets.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      std::error_code missing;  // missing files are an error later
      expect(sets[i] != sets[j] && !std::filesystem::equivalent(sets[i], sets[j], missing), "--valid-sets",
             "different sets", sets[i].string() + " twice");
    }
  }
}

// The schedule that a stage has for itself.
ScheduleOptions own_schedule(const LanguageStage& stage, const ScheduleOptions& run) {
  ScheduleOptions own;
  own.kind = stage.schedule.value_or(run.kind);
  own.learning_rate = stage.learning_rate.value_or(run.learning_rate);
  own.warmup = stage.warmup.value_or(0);
  own.warmup_percent = stage.warmup_percent;
  own.warmup_initial = std::min(run.warmup_initial, own.learning_rate);
  own.minimum_rate = run.minimum_rate;
  own.cooldown = stage.cooldown;
  own.cooldown_percent = stage.cooldown_percent.value_or(own.cooldown_percent);
  own.cooldown_form = stage.cooldown_form.value_or(own.cooldown_form);
  own.power = stage.power.value_or(own.power);
  own.validate();
  return resolve_schedule(own, stage.updates);
}

// The learning rates of a stage. `run`: the schedule of the run, with the numbers of updates.
RateStage rates_of(const LanguageStage& stage, uint64_t begin, const ScheduleOptions& run) {
  if (stage.restarts_schedule()) return {.begin = begin, .origin = begin, .schedule = own_schedule(stage, run)};
  RateStage rates{.begin = begin, .origin = 0, .schedule = run};
  rates.schedule.learning_rate = stage.learning_rate.value_or(run.learning_rate);
  rates.schedule.warmup_initial = std::min(run.warmup_initial, rates.schedule.learning_rate);
  return rates;
}

// Rejects options of a schedule that the stage does not have.
void check_schedule_options(const LanguageStage& stage, const std::string& run_kind) {
  const bool has_own = stage.restarts_schedule();
  const std::string kind = stage.schedule.value_or(run_kind), got = has_own ? kind : "the schedule of the run";
  const Schedule own = has_own ? find_schedule(kind) : Schedule{};
  const bool gives_cooldown = stage.cooldown || stage.cooldown_percent || stage.cooldown_form;
  expect(!gives_cooldown || own.has_cooldown, "lr-cooldown", "lr-schedule wsd in the stage", got);
  expect(!stage.power || own.has_power, "lr-power", "lr-schedule polynomial in the stage", got);
}

// One weight for each file, or none.
void expect_weights(const std::vector<double>& weights, size_t files, const std::string& shuffle) {
  if (weights.empty()) return;
  expect(weights.size() == files, "--train-weights",
         concat("a weight for each of the ", files, " files of --train-sets"), concat(weights.size(), " weights"));
  for (const double weight : weights)
    expect(std::isfinite(weight) && weight > 0, "--train-weights", "numbers above 0", weight);
  expect(shuffle == "data", "--shuffle", "data with --train-weights, which draws samples at random", shuffle);
}

void check_stage(const LanguageStage& stage) {
  expect_at_least(uint64_t{1}, "updates", stage.updates);
  if (stage.max_length) expect_at_least(3, "max-length", *stage.max_length);
  if (stage.batch_size) expect_at_least(uint64_t{1}, "mini-batch-words", *stage.batch_size);
  if (stage.batch_unit) expect_one_of({"total", "sentences"}, "batch-unit", *stage.batch_unit);
}

}  // namespace

void LanguageOptions::set_stages(std::vector<LanguageStage> all) {
  uint64_t end = 0;
  for (const LanguageStage& stage : all) end += stage.updates;
  expect(stop.after.amount == 0 || (stop.after.unit == Period::Unit::updates && stop.after.amount == end), "--after",
         concat("nothing, or the ", end, " updates of all stages"), stop.after.text());
  stop.after = {end, Period::Unit::updates};
  optimizer.rate_stages.clear();
  const ScheduleOptions run = resolve_schedule(optimizer.schedule, end);
  uint64_t begin = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    try {
      check_stage(all[i]);
      check_schedule_options(all[i], optimizer.schedule.kind);
      optimizer.rate_stages.push_back(rates_of(all[i], begin, run));
      optimizer.rate_stages.back().schedule.validate();
    } catch (const UsageError& error) {
      throw UsageError("[stage ", i + 1, "] ", error.what());
    }
    begin += all[i].updates;
  }
  stages = std::move(all);
}

void LanguageOptions::validate() const {
  TrainOptions::validate();
  tokenizer.check();
  expect(!data.train_sets.empty(), "--train-sets", "text files or a token store", "nothing");
  expect_at_least(3, "--max-length", data.max_length);
  expect_one_of({"total", "sentences"}, "--batch-unit", batch.unit);
  parse_document_end(documents);
  if (!line_ends.empty()) expect_one_of({"keep", "space", "none"}, "--line-ends", line_ends);
  expect_different(data.valid_sets);
  expect_one_of({"full", "sentences", "segment"}, "--fill", fill);
  expect(documents != "whole" || fill == "full", "--fill", "full with --documents whole, which has no sentences", fill);
  expect(!across_documents || fill != "segment", "--across-documents", "off with --fill segment", "on");
  expect_one_of({"across", "apart"}, "--documents-attend", documents_attend);
  expect_fraction("--valid-share", validation_share);
  expect(validation_share == 0 || data.valid_sets.empty(), "--valid-share", "0 with --valid-sets", validation_share);
  expect_finite_at_least(0, "--z-loss", z_loss);
  expect_weights(train_weights, data.train_sets.size(), batch.shuffle);
  for (const LanguageStage& stage : stages) {
    const LanguageOptions of_stage = options_of_stage(*this, stage);
    expect_weights(of_stage.train_weights, of_stage.data.train_sets.size(), batch.shuffle);
  }
  for (const LanguageStage& stage : stages)
    expect(validation_share == 0 || stage.train_sets.empty(), "--valid-share",
           "0, and --valid-sets, if a stage has train-sets of its own", validation_share);
  for (const std::string& metric : validation.metrics)
    expect_one_of({"cross-entropy", "perplexity", "accuracy", "bits-per-byte"}, "--valid-metrics", metric);
}

std::string weights_text(const std::vector<double>& weights) {
  std::string text;
  for (const double weight : weights) text += concat(text.empty() ? "" : " ", weight);
  return text;
}

OptimizerOptions causal_optimizer() {
  OptimizerOptions options = LanguageOptions().optimizer;
  options.kind = "adamw";
  options.beta2 = 0.95;
  options.epsilon = 1e-8;
  options.weight_decay = 0.1;
  options.clip_norm = 1;
  return options;
}

MaskingOptions MaskedOptions::masking() const {
  return {.share = mask_share, .draw = MaskingOptions::parse_draw(mask_draw), .whole_words = whole_words};
}

void MaskedOptions::validate() const {
  LanguageOptions::validate();
  for (const std::string& metric : validation.metrics)
    expect(metric != "bits-per-byte", "--valid-metrics", "bits-per-byte only for causal models", metric);
  expect(mask_share > 0 && mask_share <= 1, "--mask-share", "a number above 0 and up to 1", mask_share);
  expect_one_of({"exact", "independent"}, "--mask-draw", mask_draw);
}

}  // namespace gyre
