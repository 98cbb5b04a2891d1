#include "train/options.h"

#include <cmath>

#include "core/kernels.h"
#include "core/sizes.h"
#include "train/option_checks.h"

namespace gyre {
namespace {

constexpr int kMostShards = 65536;            // of a batch
constexpr double kLargestBucket = 1'000'000;  // megabytes

void validate(const OptimizerOptions& o) {
  expect_one_of({"adam", "adamw"}, "--optimizer", o.kind);
  expect(std::isfinite(o.learning_rate) && o.learning_rate > 0, "--learn-rate", "a positive number", o.learning_rate);
  expect_fraction("--optimizer-params beta1", o.beta1);
  expect_fraction("--optimizer-params beta2", o.beta2);
  expect(std::isfinite(o.epsilon) && o.epsilon > 0, "--optimizer-params epsilon", "a positive number", o.epsilon);
  expect_finite_at_least(0, "--weight-decay", o.weight_decay);
  expect(o.weight_decay == 0 || o.kind == "adamw", "--weight-decay", "0 with --optimizer adam (adamw decays weights)",
         o.weight_decay);
  expect_finite_at_least(0, "--clip-norm", o.clip_norm);
  expect_fraction("--ema", o.ema);
  expect_one_of({"inverse-sqrt", "linear", "constant"}, "--lr-schedule", o.schedule);
  expect_finite_at_least(0, "--lr-warmup-start-rate", o.warmup_initial);
  expect(o.minimum_rate >= 0 && o.minimum_rate <= o.learning_rate, "--lr-minimum",
         concat("a number from 0 to --learn-rate ", o.learning_rate), o.minimum_rate);
  expect(o.warmup_percent >= 0 && o.warmup_percent < 100, "--lr-warmup", "a share of at least 0% and below 100%",
         concat(o.warmup_percent, "%"));
}

void validate_schedule(const OptimizerOptions& o, const Period& after) {
  if (o.schedule != "linear" && o.warmup_percent == 0) return;
  if (o.total_updates == 0) {
    expect(after.amount > 0 && after.unit != Period::Unit::target_tokens, "--total-updates",
           "the updates of the run, as --after does not say it in updates or epochs", o.total_updates);
  } else {
    expect(o.warmup_percent > 0 || o.total_updates > o.warmup, "--total-updates",
           concat("more than the ", o.warmup, " updates of --lr-warmup with --lr-schedule linear"), o.total_updates);
  }
}

void validate_data(const TrainOptions& o) {
  expect(!o.model.empty(), "--model", "a run directory", "nothing");
  expect_at_least(1, "--max-length", o.max_length);
  expect_one_of({"default", "error", "skip"}, "--on-bad-line", o.on_bad_line);
  expect_one_of({"data", "none"}, "--shuffle", o.shuffle);
  expect_at_least(uint64_t{1}, "--mini-batch-words", o.batch_words);
  expect_at_least(uint64_t{1}, "--maxi-batch", o.maxi_batch);
}

void validate_periods(const TrainOptions& o) {
  expect(o.display_every.amount > 0, "--disp-freq", "a period above 0", o.display_every.text());
  expect_finite_at_least(0, "--disp-seconds", o.display_seconds);
  expect(o.save_every.amount > 0, "--save-freq", "a period above 0", o.save_every.text());
  expect_at_least(0, "--early-stopping", o.early_stopping);
  expect(o.after.amount > 0 || o.early_stopping > 0 || o.stop_after_time_minutes.has_value(), "--after",
         "an end of the run (or --early-stopping or --stop-after-minutes)", o.after.text());
  expect_at_least(0, "--keep-last", o.keep_last);
}

void validate_validation(const TrainOptions& o) {
  expect(o.early_stopping == 0 || o.validates(), "--early-stopping",
         "0 without --valid-sets, --valid-metrics and --valid-freq", o.early_stopping);
  expect_at_least(uint64_t{1}, "--valid-mini-batch", o.valid_mini_batch);
}

void validate_exchange(const TrainOptions& o) {
  expect(o.bucket_mb > 0 && o.bucket_mb <= kLargestBucket, "--bucket-mb",
         concat("a number above 0 and at most ", kLargestBucket), o.bucket_mb);
  expect_one_of({"fp32", "bf16"}, "--gradient-dtype", o.gradient_dtype);
  expect(!o.deterministic || o.gradient_dtype == "fp32", "--gradient-dtype",
         "fp32 with --deterministic (in bf16 the sums depend on the number of ranks)", o.gradient_dtype);
  expect(o.zero == 0 || o.zero == 1, "--zero", "stage 0 or 1", o.zero);
  expect_finite_at_least(0, "--hang-timeout", o.hang_timeout);
}

}  // namespace

bool TrainOptions::validates() const {
  return has_validation_data() && !valid_metrics.empty() && validate_every.amount > 0;
}

void TrainOptions::validate() const {
  validate_data(*this);
  gyre::validate(optimizer);
  expect_between(1, kMostShards, "--optimizer-delay", accumulation);
  expect_between(0, kMostShards, "--shards", shards);
  parse_device(device, 0);  // throws where it is none
  expect_between(0, kMostThreads, "--cpu-threads", threads);
  validate_exchange(*this);
  expect_at_least(0, "--max-skipped", most_skipped);
  validate_periods(*this);
  validate_schedule(optimizer, after);
  validate_validation(*this);
}

}  // namespace gyre
