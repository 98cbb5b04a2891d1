#include "tools/page/tape/rank_step.h"

#include <doctest/doctest.h>

#include "gyre/models/config/config.h"

using namespace gyre;

namespace {

std::unique_ptr<Workload> lm_workload() {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("lm-tiny");
  config.vocab_size = 50;
  std::unique_ptr<Workload> work = language_workload(config, 1, 4, {});
  work->draw(0);
  return work;
}

Exchange message(const char* name, double begin, double end) {
  return {.kind = Exchange::Kind::background, .name = name, .begin = begin, .end = end};
}

}  // namespace

TEST_CASE("the buckets of a step divide the gradients from the end, and leave in this order during backward") {
  const std::unique_ptr<Workload> work = lm_workload();
  SelfCommunicator alone;
  const RankStep step = run_rank_step(*work, cpu_kernels(), Precision::fp32, alone, 0.1);
  REQUIRE(step.buckets.size() > 2);
  int64_t end = work->parameters().values().size();
  double time = step.backward.front().time.begin;
  for (const RankStep::Bucket& bucket : step.buckets) {
    CHECK(bucket.range.end == end);
    CHECK(bucket.leaves >= time);
    CHECK(bucket.leaves <= step.end_of_backward);
    CHECK(bucket.node >= 0);
    CHECK(!bucket.messages);  // one rank sends nothing
    end = bucket.range.begin;
    time = bucket.leaves;
  }
  CHECK(end == 0);
  CHECK(step.lookups.empty());
  CHECK(step.end >= step.end_of_backward);
}

TEST_CASE("messages of one name belong to the buckets in their order, and then to lookups") {
  RankStep step;
  step.buckets.resize(2);
  for (RankStep::Bucket& bucket : step.buckets) bucket.leaves = 3;
  assign_messages({message("all-gather", 5, 6),
                   message("all-to-all", 2, 4),
                   message("all-to-all", 3, 5),
                   message("all-gather", 4, 7),
                   message("all-reduce", 1, 2),
                   message("all-to-all", 8, 9),
                   {.kind = Exchange::Kind::waiting, .name = "all-gather", .begin = 0, .end = 9}},
                  step);
  CHECK(step.buckets[0].messages->begin == 2);
  CHECK(step.buckets[0].messages->end == 7);
  CHECK(step.buckets[0].leaves == 2);
  CHECK(step.buckets[1].messages->begin == 3);
  CHECK(step.buckets[1].messages->end == 6);
  REQUIRE(step.lookups.size() == 2);
  CHECK(step.lookups[0].name == "all-reduce");
  CHECK(step.lookups[1].begin == 8);
}

TEST_CASE("if all-reduces sum the buckets, the first one is that of the row numbers") {
  RankStep step;
  step.buckets.resize(1);
  assign_messages({message("all-reduce", 1, 2), message("all-reduce", 3, 4), message("all-reduce", 5, 6)}, step);
  CHECK(step.buckets[0].messages->begin == 3);
  CHECK(step.lookups.size() == 2);
}
