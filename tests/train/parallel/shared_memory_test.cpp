// Exchanges in shared memory between threads that act as the ranks of a machine.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gyre/train/parallel/routes.h"
#include "gyre/train/parallel/window_tasks.h"

namespace gyre::test {
namespace {

struct alignas(64) Line {
  std::array<std::byte, 64> bytes{};
};

// Runs `rank` on a thread for each rank, with a pipeline of its own.
void on_ranks(int ranks, const std::function<void(int rank, WindowPipeline& pipeline)>& body) {
  std::vector<std::vector<Line>> memory(static_cast<size_t>(ranks));
  std::vector<std::byte*> segments;
  for (std::vector<Line>& own : memory) {
    own.resize(size_t(WindowPipeline::kSegmentBytes) / sizeof(Line));
    segments.push_back(own.data()->bytes.data());
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      WindowPipeline pipeline({.rank = rank, .segments = segments});
      body(rank, pipeline);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void finish(WindowPipeline& pipeline) {
  while (!pipeline.idle()) {
    if (!pipeline.advance()) std::this_thread::yield();
  }
}

Shares equal_shares(int64_t n, int ranks) {
  Shares shares(static_cast<size_t>(ranks));
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const ElementRange own{n * rank / ranks, n * (rank + 1) / ranks};
    if (own.size() > 0) shares[size_t(rank)].push_back(own);
  }
  return shares;
}

float value(int rank, int64_t i) { return float(rank + 1) * float(i % 8); }  // sums are exact, in bf16 too

TEST_CASE("threads sum ranges of any size in shared memory, several at once") {
  for (const int ranks : {1, 2, 3, 5}) {
    const SumOrder order(Machines(std::vector<int>(size_t(ranks))), 0);
    const TreeAdder adder = order.within(0);
    on_ranks(ranks, [&](int rank, WindowPipeline& pipeline) {
      std::vector<Tensor> all;
      int done = 0;
      for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{17}, int64_t{100'003}, int64_t{1'500'001}}) {
        for (const DType comm_dtype : {DType::f32, DType::bf16}) {
          const Tensor values = Tensor::empty({n});
          for (int64_t i = 0; i < n; ++i) values.data<float>()[i] = value(rank, i);
          all.push_back(values);
          pipeline.start(make_window_sum({.rank = rank,
                                          .shares = equal_shares(n, ranks),
                                          .parts = {values},
                                          .parts_of = std::vector<int>(size_t(ranks), 1),
                                          .adder = &adder,
                                          .outputs = {{0, ranks}},
                                          .sums = {values},
                                          .comm_dtype = comm_dtype,
                                          .gathers = true}),
                         [&] { ++done; });
        }
      }
      finish(pipeline);
      int64_t wrong = done == int(all.size()) ? 0 : 1;
      for (const Tensor& sums : all) {
        for (int64_t i = 0; i < sums.size(); ++i) {
          wrong += sums.data<float>()[i] != float(ranks * (ranks + 1) / 2) * float(i % 8);
        }
      }
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("threads gather their shares, of which some are empty") {
  constexpr int kRanks = 3;
  on_ranks(kRanks, [](int rank, WindowPipeline& pipeline) {
    const int64_t n = 700'001;
    const Shares shares{{{0, 5}, {600'000, n}}, {}, {{5, 600'000}}};
    const Tensor values = Tensor::zeros({n});
    for (const ElementRange own : shares[size_t(rank)]) {
      for (int64_t i = own.begin; i < own.end; ++i) values.data<float>()[i] = float(i);
    }
    pipeline.start(make_window_gather(rank, shares, values), [] {});
    finish(pipeline);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) wrong += values.data<float>()[i] != float(i);
    CHECK(wrong == 0);
  });
}

// Every rank packs a number at one place of its slots and adds a result at another. Rank 1 is late when it takes the
// results, and counts those that are wrong.
class LateTask final : public WindowTask {
 public:
  LateTask(int rank, int64_t packed_at, int64_t result_at, std::atomic<int>& wrong)
      : rank_(rank), packed_at_(packed_at), result_at_(result_at), wrong_(wrong) {}
  const char* name() const override { return "late"; }
  int64_t bytes() const override { return 0; }
  int64_t chunks() const override { return 2 * WindowPipeline::kSlots; }
  void pack(int64_t chunk, Slots slots) override { number(slots[size_t(rank_)], packed_at_) = -1 - chunk; }
  void add(int64_t chunk, Slots slots) override { number(slots[size_t(rank_)], result_at_) = chunk; }
  void take(int64_t chunk, Slots slots) override {
    if (rank_ == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (std::byte* slot : slots) wrong_ += number(slot, result_at_) != chunk;
  }

 private:
  static int64_t& number(std::byte* slot, int64_t at) { return reinterpret_cast<int64_t*>(slot)[at]; }
  int rank_;
  int64_t packed_at_, result_at_;
  std::atomic<int>& wrong_;
};

TEST_CASE("a rank that is behind keeps the others from overwriting what it needs, in the next task too") {
  std::atomic<int> wrong = 0;
  on_ranks(2, [&](int rank, WindowPipeline& pipeline) {
    for (int task = 0; task < 3; ++task) {
      pipeline.start(std::make_unique<LateTask>(rank, task % 2 * 100, (task + 1) % 2 * 100, wrong), [] {});
    }
    finish(pipeline);
  });
  CHECK(wrong == 0);
}

TEST_CASE("machines: every rank has one agent on each machine") {
  const Machines machines({9, 4, 9, 9, 4});
  CHECK(machines.count() == 2);
  CHECK(machines.ranks_of(0) == std::vector<int>{0, 2, 3});
  CHECK(machines.index_of(3) == 2);
  for (int rank = 0; rank < machines.ranks(); ++rank) CHECK(machines.agent(machines.machine_of(rank), rank) == rank);
  CHECK(machines.agent(1, 3) == 1);  // the second machine has two ranks: its first one also acts for the third rank
  CHECK(machines.agent(0, 4) == 2);
  // The slices of all ranks, each with one agent.
  const Routes routes(machines, 1);
  const Shares shares = routes.shares({10, 20, 30, 40, 50});
  REQUIRE(shares.size() == 2);
  int64_t elements = 0;
  for (const auto& own : shares) {
    for (const ElementRange range : own) elements += range.size();
  }
  CHECK(elements == 50);
}

TEST_CASE("a machine adds up siblings only") {
  // Micro-batches 0..7 on ranks 0..3, two each.
  const SumOrder pairs(Machines({0, 0, 1, 1}), 8), turns(Machines({0, 1, 0, 1}), 8);
  CHECK(pairs.sums_of(0) == std::vector<MicroBatchRange>{{0, 4}});
  CHECK(pairs.sums_of(1) == std::vector<MicroBatchRange>{{4, 8}});
  CHECK(turns.sums_of(0) == std::vector<MicroBatchRange>{{0, 2}, {4, 6}});
  CHECK(turns.total() == MicroBatchRange{0, 8});
}

}  // namespace
}  // namespace gyre::test
