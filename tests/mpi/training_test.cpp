// Complete training runs on several ranks, compared with the same run on one rank.
#include <doctest/doctest.h>

#include <tuple>

#include "gyre/core/hardware/cuda.h"
#include "gyre/core/kernels/amx.h"
#include "gyre/train/tasks/classification/classify.h"
#include "gyre/train/tasks/language/language.h"
#include "gyre/train/tasks/matching/match.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tests/mpi/shared_directory.h"
#include "tests/report.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

TEST_CASE("deterministic runs have the same bits on any number of ranks") {
  const SharedDirectory directory;
  for (int micro_batches : {8, 9}) {
    CAPTURE(micro_batches);
    const std::string many = "many" + std::to_string(micro_batches), one = "one" + std::to_string(micro_batches);
    train_nmt(deterministic(directory.options(many, "15u"), micro_batches), tiny_nmt_config(), ranks());
    train_alone(deterministic(directory.options(one, "15u"), micro_batches), tiny_nmt_config());
    check_same_runs(directory / many, directory / one);
    CHECK(last_state(directory / many).progress.batch == 3);  // third batch of the second epoch
  }
}

TEST_CASE("ranks with and without AMX have the same weights, or an error at the start") {
  if (!has_amx()) return report_skipped("this CPU has no AMX");
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, const std::string& optimizer, int zero) {
    NmtOptions o = directory.options(run, "3u");
    o.device.precision = Precision::bf16;
    o.optimizer.kind = optimizer;
    o.parallel.zero = zero;
    return o;
  };
  use_amx(ranks().rank() == 0);
  train_nmt(options("adam", "adam", 0), tiny_nmt_config(), ranks());  // compares the weights when it saves
  train_nmt(options("shards", "muon", 1), tiny_nmt_config(), ranks());
  NmtOptions same_bits = deterministic(options("bits", "adam", 0), 8);
  if (ranks().size() > 1) {
    CHECK_THROWS_WITH(train_nmt(options("muon", "muon", 0), tiny_nmt_config(), ranks()),
                      doctest::Contains("use --zero 1"));
    CHECK_THROWS_WITH(train_nmt(same_bits, tiny_nmt_config(), ranks()),
                      doctest::Contains("[--deterministic] rank 0 has"));
  }
  use_amx(true);
}

TEST_CASE("runs that compute activations again have the bits of a run that keeps them") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, Recompute recompute, int zero) {
    NmtOptions o = deterministic(directory.options(run, "8u"), 8);
    o.parallel.bucket_mb = 0.02;
    o.parallel.zero = zero;
    o.device.recompute = recompute;
    return o;
  };
  train_alone(options("kept", Recompute::none, 0), tiny_nmt_config());
  for (const auto& [name, recompute, zero] :
       {std::tuple("block", Recompute::block, 0), std::tuple("attention", Recompute::attention, 0),
        std::tuple("sharded", Recompute::block, 1), std::tuple("gradients", Recompute::attention, 2)}) {
    CAPTURE(name);
    train_nmt(options(name, recompute, zero), tiny_nmt_config(), ranks());
    check_same_runs(directory / name, directory / "kept");
  }
}

TEST_CASE("BPE dropout has the same bits on any number of ranks") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& run) {
    NmtOptions o = deterministic(directory.options(run, "15u"), 8);
    o.data.vocabulary = directory / "vocab.merges";
    o.bpe_dropout = 0.2;
    return o;
  };
  if (ranks().rank() == 0) write_tiny_merges(directory / "");
  ranks().barrier();
  train_nmt(options("many"), tiny_nmt_config(), ranks());
  train_alone(options("one"), tiny_nmt_config());
  check_same_runs(directory / "many", directory / "one");
}

TEST_CASE("a masked language model has the same bits on any number of ranks, and can change that number") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, const std::string& after) {
    MaskedOptions o = tiny_masked_options(directory / "", directory / run);
    o.stop.after = Period::parse(after);
    o.parallel.deterministic = true;
    o.parallel.micro_batches = 9;
    o.data.valid_sets = {directory / "valid.txt"};
    o.validation.every = Period::parse("4u");
    return o;
  };
  train_masked_language(options("many", "15u"), tiny_encoder_config(), ranks());
  train_alone(options("one", "15u"), tiny_encoder_config());
  train_alone(options("changed", "6u"), tiny_encoder_config());
  train_masked_language(options("changed", "15u"), tiny_encoder_config(), ranks());
  for (const char* run : {"one", "changed"}) {
    check_same_runs(directory / run, directory / "many");
    CHECK(last_state(directory / run).best.at("cross-entropy").value ==
          last_state(directory / "many").best.at("cross-entropy").value);
  }
}

TEST_CASE("adapters have the same bits on any number of ranks, with ZeRO or without") {
  const SharedDirectory directory;
  train_alone(directory.options("base", "3u"), tiny_nmt_config());
  const auto options = [&](const std::string& run, int zero) {
    NmtOptions o = deterministic(directory.options(run, "15u"), 8);
    o.pretrained_model = directory / "base";
    o.lora = {.rank = 2, .targets = {"all-linear"}, .dropout = 0.1};
    o.parallel.zero = zero;
    return o;
  };
  train_alone(options("one", 0), tiny_nmt_config());
  for (const int zero : {0, 1, 2}) {
    CAPTURE(zero);
    const std::string many = "many" + std::to_string(zero);
    train_nmt(options(many, zero), tiny_nmt_config(), ranks());
    check_same_runs(directory / many, directory / "one");
  }
}

TEST_CASE("batches with nothing to predict update nothing on any number of ranks") {
  const SharedDirectory directory;
  if (ranks().rank() == 0) write_tiny_documents(directory / "documents");
  ranks().barrier();
  const auto options = [&](const std::string& run, bool deterministic) {
    MaskedOptions o = tiny_masked_options(directory / "documents", directory / run);
    o.batch.size = 2;
    o.mask_draw = MaskingOptions::Draw::independent;
    o.mask_share = 0.05;
    o.parallel.deterministic = deterministic;
    o.parallel.micro_batches = 8;
    o.stop.after = Period::parse("30u");
    return o;
  };
  train_masked_language(options("many", true), tiny_encoder_config(), ranks());
  train_masked_language(options("fast", false), tiny_encoder_config(), ranks());
  train_alone(options("one", true), tiny_encoder_config());
  check_same_runs(directory / "many", directory / "one");
  const uint64_t made = last_state(directory / "one").optimizer_step;
  CHECK(made < 28);
  CHECK(last_state(directory / "many").optimizer_step == made);
  CHECK(last_state(directory / "fast").optimizer_step == made);
}

TEST_CASE("classifiers and regressions have the same bits and scores on any number of ranks") {
  const SharedDirectory directory;
  const auto options = [&](bool regression, const std::string& run) {
    ClassifyOptions o = (regression ? tiny_regress_options : tiny_classify_options)(directory / "", directory / run);
    o.data.valid_sets = {directory / "dev.tsv"};
    o.stop.after = o.validation.every = Period::parse("9u");
    o.parallel.deterministic = true;
    o.parallel.micro_batches = 9;
    return o;
  };
  for (bool regression : {false, true}) {
    const std::string many = concat("many", regression), one = concat("one", regression);
    train_classify(options(regression, many), tiny_encoder_config(), ranks());
    train_alone(options(regression, one), tiny_encoder_config());
    CHECK(last_bits(directory / many) == last_bits(directory / one));
    const auto of_many = last_state(directory / many).best, of_one = last_state(directory / one).best;
    CHECK(of_many.size() == (regression ? 3 : 4));
    for (const auto& [name, best] : of_many) CHECK(best.value == of_one.at(name).value);
  }
}

TEST_CASE("matchers have the same bits and scores on any number of ranks") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& loss, const std::string& run) {
    MatchOptions o = tiny_match_options(directory / "triplets", directory / (run + loss));
    o.objective.loss = parse_enum<MatchLoss>("", loss);
    o.swap = 0.5;
    o.data.valid_sets = {directory / "triplets/dev.tsv"};
    o.stop.after = o.validation.every = Period::parse("17u");
    o.parallel.deterministic = true;
    o.parallel.micro_batches = 9;
    return o;
  };
  for (const std::string loss : {"cross-entropy", "margin-loss"}) {
    train_match(options(loss, "many-"), tiny_encoder_config(), ranks());
    train_alone(options(loss, "one-"), tiny_encoder_config());
    const Path many = directory / ("many-" + loss), one = directory / ("one-" + loss);
    CHECK(last_bits(many) == last_bits(one));
    const auto of_many = last_state(many).best, of_one = last_state(one).best;
    CHECK(of_many.size() == 2);
    for (const auto& [name, best] : of_many) CHECK(best.value == of_one.at(name).value);
  }
}

TEST_CASE("a deterministic run can be resumed on a different number of ranks") {
  const SharedDirectory directory;
  train_nmt(deterministic(directory.options("changed", "6u"), 8), tiny_nmt_config(), ranks());
  train_alone(deterministic(directory.options("changed", "14u"), 8), tiny_nmt_config());
  train_nmt(deterministic(directory.options("changed", "19u"), 8), tiny_nmt_config(), ranks());
  train_nmt(deterministic(directory.options("straight", "19u"), 8), tiny_nmt_config(), ranks());
  check_same_runs(directory / "changed", directory / "straight");
}

TEST_CASE("a deterministic run with R-Drop has the same bits on any number of ranks, and can change that number") {
  const SharedDirectory directory;
  const auto options = [&](const std::string& run, const std::string& after) {
    NmtOptions o = deterministic(directory.options(run, after), 9);
    o.r_drop = 5;
    return o;
  };
  train_nmt(options("many", "15u"), tiny_nmt_config(), ranks());
  train_alone(options("one", "15u"), tiny_nmt_config());
  train_alone(options("changed", "6u"), tiny_nmt_config());
  train_nmt(options("changed", "15u"), tiny_nmt_config(), ranks());
  for (const char* run : {"one", "changed"}) {
    check_same_runs(directory / run, directory / "many");
  }
}

TEST_CASE("fast runs on many ranks follow the loss of one process") {
  const SharedDirectory directory;
  const EncoderDecoderConfig config = tiny_nmt_config(0);  // no dropout: its masks depend on the micro-batches
  train_alone(directory.options("one", "30u"), config);
  for (const int zero : {0, 2}) {
    CAPTURE(zero);
    const std::string run = "many" + std::to_string(zero);
    NmtOptions options = directory.options(run, "30u");
    options.parallel.accumulation = 2;
    options.parallel.bucket_mb = 0.002;
    options.parallel.zero = zero;
    train_nmt(options, config, ranks());
    check_close_curves(directory / run, directory / "one", 2e-4);
    const auto updates = events(directory / run, "train");
    CHECK(updates.back()["cross-entropy"].get<double>() < 0.8 * updates.front()["cross-entropy"].get<double>());
  }
}

TEST_CASE("a fast run that was interrupted in the middle of an epoch ends with the same bits") {
  const SharedDirectory directory;
  train_nmt(directory.options("cut", "7u"), tiny_nmt_config(), ranks());
  train_nmt(directory.options("cut", "16u"), tiny_nmt_config(), ranks());
  train_nmt(directory.options("straight", "16u"), tiny_nmt_config(), ranks());
  CHECK(last_bits(directory / "cut") == last_bits(directory / "straight"));
}

TEST_CASE("validation gives the same numbers on any number of ranks") {
  const SharedDirectory directory;
  const auto with_validation = [&](const std::string& run) {
    NmtOptions options = deterministic(directory.options(run, "8u"), 8);
    options.data.valid_sets = {directory / "valid.src", directory / "valid.tgt"};
    options.validation.metrics = {"chrf", "bleu"};
    options.validation.mini_batch = 2;
    options.validation.every = Period::parse("8u");
    return options;
  };
  train_nmt(with_validation("many"), tiny_nmt_config(), ranks());
  train_alone(with_validation("one"), tiny_nmt_config());
  const auto many = last_state(directory / "many").best, one = last_state(directory / "one").best;
  REQUIRE(many.size() == 4);
  for (const auto& [name, best] : many) CHECK(best.value == one.at(name).value);
  CHECK(many.at("cross-entropy").value > 0);
}

// Uses NCCL if every rank has a separate GPU, else copies gradients through the CPU.
TEST_CASE("ranks on GPUs follow the loss of one process, and deterministic ones have its bits") {
  if (cuda_devices() == 0) return report_skipped("no GPU (CUDA: " + cuda_description() + ")");
  const std::string length = "6u";  // short, because the emulated GPU is slow
  const SharedDirectory directory;
  const auto on_gpus = [&](NmtOptions options) {
    options.device.name = "cuda:" + std::to_string(ranks().local_rank() % cuda_devices());
    return options;
  };
  train_nmt(on_gpus(directory.options("fast", length)), tiny_nmt_config(0), ranks());
  NmtOptions many = on_gpus(deterministic(directory.options("many", length), 8));
  many.parallel.zero = 2;
  train_nmt(many, tiny_nmt_config(), ranks());
  train_alone(directory.options("one", length), tiny_nmt_config(0));
  train_alone(on_gpus(deterministic(directory.options("tree", length), 8)), tiny_nmt_config());
  CHECK(last_bits(directory / "many") == last_bits(directory / "tree"));
  NmtOptions narrow = on_gpus(directory.options("narrow", length));
  narrow.parallel.gradient_dtype = GradientDtype::bf16;
  narrow.parallel.zero = 1;
  narrow.optimizer.ema = 0.9;
  train_nmt(narrow, tiny_nmt_config(0), ranks());
  NmtOptions gradients = narrow;
  gradients.start.directory = directory / "gradients";
  gradients.parallel.zero = 2;
  train_nmt(gradients, tiny_nmt_config(0), ranks());
  CHECK(last_bits(directory / "gradients") == last_bits(directory / "narrow"));
  check_close_curves(directory / "fast", directory / "one", 1e-3);
  check_close_curves(directory / "narrow", directory / "one", 5e-3);
}

}  // namespace
}  // namespace gyre::test
