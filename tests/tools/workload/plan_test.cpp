// Plans of the division of a step among ranks, of its exchange and of its memory.
#include "tools/workload/plan.h"

#include <doctest/doctest.h>

#include "tests/errors.h"

namespace gyre::test {
namespace {

PlanLoad load_of(const ParallelOptions& parallel) {
  PlanLoad load;
  load.parameters = 1'000'000;
  load.flops_per_token = 6e6;
  load.tokens = 24'000;
  load.parallel = parallel;
  return load;
}

TEST_CASE("plan: accumulation divides the tokens of each rank") {
  const PlanLoad load = load_of({.accumulation = 4});
  const RankShare share = share_of_rank(load, 3, Scaling::strong);
  CHECK(share.micro_batches == 4);
  CHECK(share.tokens() == doctest::Approx(8'000));
  CHECK(share_of_rank(load, 3, Scaling::weak).tokens() == doctest::Approx(24'000));
}

TEST_CASE("plan: the rank with the most of a fixed number of micro-batches determines the step") {
  const PlanLoad load = load_of({.micro_batches = 8});
  const RankShare share = share_of_rank(load, 3, Scaling::strong);
  CHECK(share.micro_batches == 3);
  CHECK(share.tokens() == doctest::Approx(9'000));
  const PlanRates rates{.flops = 1e12, .memory = 1e12};
  CHECK(plan_step(load, rates, 3, Scaling::strong).compute == doctest::Approx(9'000 * 6e6 / 1e12));
  CHECK(contains(error_of([&] { share_of_rank(load, 9, Scaling::strong); }),
                 "expected at least one micro-batch for each of 9 ranks, got 8"));
  CHECK(share_of_rank(load_of({.deterministic = true}), 8, Scaling::strong).micro_batches == 1);
}

TEST_CASE("plan: a batch has at least one item, and micro-batches without any cost nothing") {
  PlanLoad load = load_of({.accumulation = 64});
  load.item_tokens = 1'000;
  const RankShare share = share_of_rank(load, 4, Scaling::strong);  // 24 items
  CHECK(share.micro_batches == 6);
  CHECK(share.micro_batch_tokens == 1'000);
  CHECK(share_of_rank(load, 1024, Scaling::strong).tokens() == 1'000);
  load.item_tokens = 1e6;
  CHECK(tokens_of_step(load, 4, Scaling::strong) == 1e6);
  CHECK(share_of_rank(load, 4, Scaling::strong).tokens() == 1e6);
}

TEST_CASE("plan: the sums of several micro-batches take memory in deterministic mode") {
  const PlanLoad tree = load_of({.deterministic = true});
  for (const auto& [micro_batches, arenas] : {std::pair{1, 1}, {2, 2}, {3, 3}, {4, 3}, {5, 4}, {8, 4}}) {
    CAPTURE(micro_batches);
    CHECK(gradient_bytes(tree, 2, micro_batches) == arenas * 4e6);
    CHECK(gradient_bytes(load_of({}), 2, micro_batches) == 4e6);
  }
}

TEST_CASE("plan: sharded gradients take a share, the buckets in flight and a parameter, and are sent per micro-batch") {
  PlanLoad load = load_of({.accumulation = 3, .zero = 2});
  load.bucket_bytes = 1e5;
  load.largest_parameter = 50'000;
  CHECK(gradient_bytes(load, 1, 3) == 4e6);
  CHECK(gradient_bytes(load, 4, 3) == 1e6 + 5e5 + 2e5);
  load.bucket_bytes = 1e7;
  CHECK(gradient_bytes(load, 4, 3) == 1e6 + 4e6);
  load.parallel = {.deterministic = true, .zero = 2};
  CHECK(gradient_bytes(load, 4, 2) == 1e6 + 4e6);  // the sums of two micro-batches
  const PlanRates rates{.flops = 1e9, .memory = 1e12, .link = 1e9, .latency = 0};
  const auto exchange = [&](const ParallelOptions& parallel) {
    return plan_step(load_of(parallel), rates, 2, Scaling::strong).exchange;
  };
  const double half = 2e-3;  // a reduce-scatter or an all-gather
  CHECK(exchange({.accumulation = 3, .zero = 1}) == doctest::Approx(2 * half));
  CHECK(exchange({.accumulation = 3, .zero = 2}) == doctest::Approx(4 * half));
  CHECK(exchange({.deterministic = true, .zero = 2}) == doctest::Approx(2 * half));
}

TEST_CASE("plan: each subtree of a rank is sent, and copies between GPU and CPU are not hidden") {
  const PlanRates rates{.flops = 1e9, .memory = 1e12, .link = 1e9, .latency = 0};  // backward hides everything
  const auto row = [&](const ParallelOptions& parallel, int ranks, const PlanRates& at) {
    return plan_step(load_of(parallel), at, ranks, Scaling::strong);
  };
  const ParallelOptions tree{.deterministic = true};
  // 8 micro-batches on 2 ranks are a subtree each; on 3 ranks, 3 of them are two subtrees.
  CHECK(row(tree, 2, rates).exchange == doctest::Approx(row({}, 2, rates).exchange));
  CHECK(row(tree, 3, rates).exchange == doctest::Approx(1.5 * row({}, 3, rates).exchange));
  PlanRates through_cpu = rates;
  through_cpu.host_copy = 1e9;
  CHECK(row(tree, 2, rates).exposed == 0);
  CHECK(row(tree, 2, through_cpu).exposed == doctest::Approx(2 * 4e-3));
}

TEST_CASE("plan: gradients in bf16 have as many buckets as in fp32") {
  PlanLoad fp32 = load_of({}), bf16 = load_of({.gradient_dtype = GradientDtype::bf16});
  fp32.bucket_bytes = bf16.bucket_bytes = 4e5;  // 10 buckets
  const PlanRates rates{.flops = 1e9, .memory = 1e12, .link = 1e30, .latency = 1};
  CHECK(plan_step(fp32, rates, 2, Scaling::strong).exchange == doctest::Approx(20));
  CHECK(plan_step(bf16, rates, 2, Scaling::strong).exchange == doctest::Approx(20));
}

}  // namespace
}  // namespace gyre::test
