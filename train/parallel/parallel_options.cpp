#include "gyre/train/parallel/parallel_options.h"

#include "gyre/core/option_checks.h"

namespace gyre {
namespace {

constexpr int kMaxMicroBatches = 65536;  // limit per global batch
constexpr int kDeterministicMicroBatches = 8;
constexpr double kLargestBucket = 1'000'000;  // MiB

}  // namespace

void ParallelOptions::validate() const {
  expect_between(1, kMaxMicroBatches, "--optimizer-delay", accumulation);
  expect_between(0, kMaxMicroBatches, "--micro-batches", micro_batches);
  if (accumulation > 1 && fixes_micro_batches()) {
    throw UsageError(
        "[--optimizer-delay] has no effect with --micro-batches or --deterministic: the number of micro-batches "
        "determines the work of each rank");
  }
  const double bucket = bucket_mb_on(Device{});
  expect(bucket > 0 && bucket <= kLargestBucket, "--bucket-mb", concat("a number above 0 and at most ", kLargestBucket),
         bucket);
  expect_one_of({"fp32", "bf16"}, "--gradient-dtype", gradient_dtype);
  expect(!deterministic || gradient_dtype == "fp32", "--gradient-dtype",
         "fp32 with --deterministic (in bf16 the sums depend on the number of ranks)", gradient_dtype);
  expect(zero >= 0 && zero <= 2, "--zero", "stage 0, 1 or 2", zero);
  expect_finite_at_least(0, "--watchdog-timeout", watchdog_timeout);
}

int ParallelOptions::micro_batches_on(int ranks) const {
  if (micro_batches > 0) return micro_batches;
  return deterministic ? kDeterministicMicroBatches : ranks * accumulation;
}

}  // namespace gyre
