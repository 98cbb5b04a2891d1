#include "gyre/train/options.h"

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/sizes.h"
#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

void validate(const DataOptions& o) {
  expect_at_least(1, "--max-length", o.max_length);
  expect_one_of({"default", "error", "skip"}, "--on-bad-line", o.on_bad_line);
}

void validate(const BatchingOptions& o) {
  expect_one_of({"data", "none"}, "--shuffle", o.shuffle);
  expect_at_least(uint64_t{1}, "--mini-batch-words", o.size);
  expect_at_least(uint64_t{1}, "--maxi-batch", o.maxi_batch);
}

void validate(const DeviceOptions& o) {
  parse_device(o.name, 0);  // throws if there is no such device
  expect_between(0, kMaxThreads, "--cpu-threads", o.threads);
}

void validate(const StopOptions& o) {
  expect_at_least(0, "--max-skipped", o.max_skipped);
  expect_at_least(0, "--patience", o.early_stopping);
  expect(o.after.amount > 0 || o.early_stopping > 0 || o.minutes.has_value(), "--after",
         "an end of the run (or --patience or --stop-after-minutes)", o.after.text());
}

void validate(const CheckpointOptions& o) {
  expect(o.every.amount > 0, "--save-freq", "a period above 0", o.every.text());
  expect_at_least(0, "--keep-last", o.saving.keep_last);
}

void validate(const LoggingOptions& o) {
  expect(o.every.amount > 0, "--disp-freq", "a period above 0", o.every.text());
  expect_finite_at_least(0, "--disp-seconds", o.seconds);
}

}  // namespace

bool TrainOptions::validates() const {
  return has_validation_data() && !validation.metrics.empty() && validation.every.amount > 0;
}

bool TrainOptions::has_total_updates() const {
  const bool ends = stop.after.amount > 0 && stop.after.unit != Period::Unit::target_tokens;
  return optimizer.schedule.total_updates > 0 || ends;
}

void TrainOptions::validate_update() const {
  gyre::validate(data);
  gyre::validate(batch);
  optimizer.validate();
  gyre::validate(device);
  parallel.validate();
}

void TrainOptions::validate() const {
  expect(!start.directory.empty(), "--model", "a run directory", "nothing");
  validate_update();
  gyre::validate(stop);
  expect_at_least(uint64_t{1}, "--valid-mini-batch", validation.mini_batch);
  gyre::validate(checkpoint);
  gyre::validate(log);
  expect_at_least(uint64_t{1}, "--replay-updates", replay.updates);
  expect(stop.early_stopping == 0 || validates(), "--patience",
         "0 without --valid-sets, --valid-metrics and --valid-freq", stop.early_stopping);
  expect(!optimizer.schedule.needs_total_updates() || has_total_updates(), "--total-updates",
         "the number of updates, since --after does not give it in updates or epochs",
         optimizer.schedule.total_updates);
  // The job resolves the schedule again, when it knows the updates of an epoch.
  const bool knows_updates = stop.after.amount > 0 && stop.after.unit == Period::Unit::updates;
  if (optimizer.schedule.total_updates > 0 || knows_updates)
    resolve_schedule(optimizer.schedule, knows_updates ? stop.after.amount : 0);
}

}  // namespace gyre
