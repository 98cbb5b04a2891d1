#include "gyre/train/parallel/parallel_options.h"

#include "gyre/core/option_checks.h"

namespace gyre {
namespace {

constexpr int kMaxMicroBatches = 65536;  // limit per global batch
constexpr int kDeterministicMicroBatches = 8;
constexpr double kLargestBucket = 1'000'000;  // MiB

}  // namespace

void ParallelOptions::declare_micro_batches(OptionList& list) {
  constexpr const char* kBatches = "this many batches make one update";
  constexpr const char* kParts =
      "the global batch stays the same, and each rank splits its part into this many micro-batches";
  // The number of micro-batches is compared with that of the checkpoint.
  list.add(OnResume::same_bits, "--optimizer-delay,--update-freq", &accumulation, "NUMBER",
           "micro-batches whose gradients each rank accumulates for one update",
           {.bounds = between(1, kMaxMicroBatches),
            .also_called = {"gradient-accumulation-steps", "grad-accum", "accumulate-grad-batches", "accum-count"},
            .elsewhere = {{{"update-freq"}, "fairseq", kBatches, kParts},
                          {{"optimizer-delay"}, "Marian", kBatches, kParts}}});
  list.add(OnResume::same_bits, "--micro-batches", &micro_batches, "NUMBER",
           "micro-batches per global batch; 0: one per rank and accumulation step, 8 with --deterministic",
           {.bounds = between(0, kMaxMicroBatches)});
  list.add(OnResume::other_bits, "--deterministic", &deterministic,
           "write bit-identical checkpoints for any number of ranks up to --micro-batches, with one thread each");
}

void ParallelOptions::declare_exchange(OptionList& list) {
  list.add(
      OnResume::other_bits, "--bucket-mb,--bucket-cap-mb", &bucket_mb, "MIB",
      "maximum size of a gradient bucket; buckets are reduced while backward is still running; default: 1, on GPUs 32");
  list.add(OnResume::other_bits, "--gradient-dtype", &gradient_dtype,
           "data type of gradients sent between ranks; sums are computed in fp32");
  list.add(OnResume::same_bits, "--shared-memory,!--no-shared-memory", &shared_memory,
           "ranks of one machine exchange gradients in shared memory, otherwise by messages");
  list.add(OnResume::same_bits, "--zero", &zero, "STAGE",
           "ZeRO stage; 1: shard the optimizer state over the ranks; 2: shard gradients too; 0: no sharding",
           {.bounds = Bounds{.expected = "stage 0, 1 or 2", .minimum = 0, .maximum = 2},
            .also_called = {"sharding", "use-distributed-optimizer", "deepspeed", "zero-stage"},
            .values_called = {{"2", {"fsdp", "data-parallel-shard-degree"}}}});
  list.add(OnResume::same_bits, "--watchdog-timeout", &watchdog_timeout, "SECONDS",
           "timeout of collective operations, after which the job aborts and names the missing ranks; ten times as "
           "long for validation and checkpoints; 0: none",
           {.bounds = finite_at_least(0)});
}

void ParallelOptions::declare(OptionList& list) {
  declare_micro_batches(list);
  declare_exchange(list);
}

void ParallelOptions::validate() const {
  OptionList::of(*this).check();
  if (accumulation > 1 && fixes_micro_batches()) {
    throw UsageError(
        "[--optimizer-delay] has no effect with --micro-batches or --deterministic: the number of micro-batches "
        "determines the work of each rank");
  }
  const double bucket = bucket_mb_on(Device{});
  expect(bucket > 0 && bucket <= kLargestBucket, "--bucket-mb", concat("a number above 0 and at most ", kLargestBucket),
         bucket);
  expect(!deterministic || gradient_dtype == GradientDtype::fp32, "--gradient-dtype",
         "fp32 with --deterministic (in bf16 the sums depend on the number of ranks)", enum_name(gradient_dtype));
}

int ParallelOptions::micro_batches_on(int ranks) const {
  if (micro_batches > 0) return micro_batches;
  return deterministic ? kDeterministicMicroBatches : ranks * accumulation;
}

}  // namespace gyre
