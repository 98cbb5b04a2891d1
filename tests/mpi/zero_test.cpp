// Complete training runs of all ZeRO stages.
#include <doctest/doctest.h>

#include <string>

#include "tests/emulated_bf16.h"
#include "tests/mpi/shared_directory.h"

namespace gyre::test {
namespace {

TEST_CASE("runs of any ZeRO stage have the same bits, and each can resume from another") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, const std::string& after, int zero) {
    NmtOptions o = deterministic(directory.options(run, after), 8);
    o.parallel.zero = zero;
    o.parallel.bucket_mb = 0.02;
    o.optimizer.kind = "adamw";
    o.optimizer.weight_decay = 0.1;
    o.optimizer.clip_norm = 0.5;
    o.optimizer.ema = 0.9;
    o.checkpoint.saving.in_background = zero == 0;
    o.data.valid_sets = {directory / "valid.src", directory / "valid.tgt"};
    o.validation.every = Period::parse("4u");
    return o;
  };
  train_nmt(options("shared", "4u", 1), tiny_nmt_config(), ranks());
  train_nmt(options("shared", "6u", 2), tiny_nmt_config(), ranks());
  train_nmt(options("shared", "9u", 0), tiny_nmt_config(), ranks());
  train_alone(options("shared", "11u", 2), tiny_nmt_config());
  train_nmt(options("shared", "15u", 2), tiny_nmt_config(), ranks());
  train_alone(options("one", "15u", 0), tiny_nmt_config());
  check_same_runs(directory / "shared", directory / "one");
  CHECK(last_state(directory / "shared").best.at("cross-entropy").value ==
        last_state(directory / "one").best.at("cross-entropy").value);
}

TEST_CASE("NorMuon and Lion have the same bits for any ZeRO stage, and each can resume from another") {
  const SharedDirectory directory;
  for (const std::string optimizer : {"normuon", "lion"}) {
    CAPTURE(optimizer);
    const auto options = [&](const std::string& run, const std::string& after, int zero) {
      NmtOptions o = deterministic(directory.options(run + optimizer, after), 8);
      o.parallel.zero = zero;
      o.parallel.bucket_mb = 0.02;  // some matrices have several buckets
      o.optimizer.kind = optimizer;
      o.optimizer.weight_decay = 0.1;
      o.optimizer.clip_norm = 0.5;
      o.optimizer.ema = 0.9;
      return o;
    };
    train_nmt(options("shared-", "3u", 1), tiny_nmt_config(), ranks());
    train_nmt(options("shared-", "6u", 2), tiny_nmt_config(), ranks());
    train_nmt(options("shared-", "8u", 0), tiny_nmt_config(), ranks());
    train_nmt(options("shared-", "10u", 2), tiny_nmt_config(), ranks());
    train_alone(options("one-", "10u", 0), tiny_nmt_config());
    check_same_runs(directory / ("shared-" + optimizer), directory / ("one-" + optimizer));
  }
}

TEST_CASE("Muon with products in bf16 has the same bits for any ZeRO stage") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, int zero) {
    NmtOptions o = deterministic(directory.options(run, "3u"), 8);
    o.parallel.zero = zero;
    o.device.precision = Precision::bf16;
    o.optimizer.kind = "muon";
    return o;
  };
  train_nmt(options("every", 0), tiny_nmt_config(), ranks());
  train_nmt(options("shared", 2), tiny_nmt_config(), ranks());
  train_alone(options("one", 0), tiny_nmt_config());
  CHECK(last_bits(directory / "every") == last_bits(directory / "one"));
  CHECK(last_bits(directory / "shared") == last_bits(directory / "one"));
}

TEST_CASE("fast runs with sharded gradients have the same bits as with sharded optimizer state only") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, const std::string& gradient_dtype, int zero) {
    NmtOptions o = directory.options(run + gradient_dtype, "8u");
    o.parallel.gradient_dtype = parse_enum<GradientDtype>("", gradient_dtype);
    o.parallel.zero = zero;
    o.parallel.bucket_mb = 0.02;
    o.optimizer.clip_norm = 0.5;
    return o;
  };
  for (const std::string dtype : {"fp32", "bf16"}) {
    CAPTURE(dtype);
    train_nmt(options("state-", dtype, 1), tiny_nmt_config(), ranks());
    train_nmt(options("gradients-", dtype, 2), tiny_nmt_config(), ranks());
    check_same_runs(directory / ("gradients-" + dtype), directory / ("state-" + dtype));
  }
}

TEST_CASE("fast runs with several micro-batches per rank have about the same losses with sharded gradients") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, int zero) {
    NmtOptions o = directory.options(run, "12u");
    o.parallel.accumulation = 3;
    o.parallel.zero = zero;
    o.parallel.bucket_mb = 0.02;
    o.optimizer.clip_norm = 0.5;
    return o;
  };
  train_nmt(options("state", 1), tiny_nmt_config(), ranks());
  train_nmt(options("gradients", 2), tiny_nmt_config(), ranks());
  check_close_curves(directory / "state", directory / "gradients", 1e-4);
}

TEST_CASE("runs with bf16 gradients and sharded optimizer state follow the loss of one process") {
  const SharedDirectory directory;
  const EncoderDecoderConfig config = tiny_nmt_config(0);
  NmtOptions options = directory.options("many", "20u");
  options.parallel.gradient_dtype = GradientDtype::bf16;
  options.parallel.zero = 1;
  train_nmt(options, config, ranks());
  train_alone(directory.options("one", "20u"), config);
  check_close_curves(directory / "many", directory / "one", 5e-3);
}

}  // namespace
}  // namespace gyre::test
