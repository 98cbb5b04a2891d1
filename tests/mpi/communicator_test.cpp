#include "gyre/train/parallel/communicator.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/train/parallel/mpi/mpi_watchdog.h"
#include "gyre/train/parallel/traced_communicator.h"
#include "tests/mpi/ranks.h"
#include "tests/report.h"

namespace gyre::test {
namespace {

// Sum over the ranks of (rank + 1) * factor.
double sum_of_ranks(double factor) { return factor * ranks().size() * (ranks().size() + 1) / 2; }

TEST_CASE("all_reduce: all ranks get the sums, in place") {
  const double own = ranks().rank() + 1;
  std::vector<double> reals{own, -2 * own};
  std::vector<int64_t> integers{int64_t(own), int64_t{1} << 40};
  ranks().all_reduce(std::span<double>(reals));
  ranks().all_reduce(std::span<int64_t>(integers));
  CHECK(reals == std::vector<double>{sum_of_ranks(1), sum_of_ranks(-2)});
  CHECK(integers == std::vector<int64_t>{int64_t(sum_of_ranks(1)), ranks().size() * (int64_t{1} << 40)});
}

TEST_CASE("start_all_reduce: callbacks of several ranges are called in order") {
  std::vector<float> arena(300'000);
  for (size_t i = 0; i < arena.size(); ++i) arena[i] = float((ranks().rank() + 1) * double(i % 97));
  const std::span<float> all(arena);
  std::vector<int> done;
  ranks().start_all_reduce(all.subspan(200'000), [&] { done.push_back(1); });
  ranks().start_all_reduce(all.subspan(7, 199'993), [&] { done.push_back(2); });
  ranks().start_all_reduce(all.first(7), [&] { done.push_back(3); });
  ranks().progress();
  ranks().finish();
  CHECK(done == std::vector<int>{1, 2, 3});
  for (size_t i = 0; i < arena.size(); ++i) REQUIRE(arena[i] == float(sum_of_ranks(double(i % 97))));
}

TEST_CASE("started collectives advance while this rank computes") {
  std::vector<float> values(3'000'000, 1);
  std::atomic<bool> done = false;
  ranks().start_all_reduce(values, [&] { done = true; });
  for (int tries = 0; tries < 3000 && !done; ++tries) usleep(10'000);  // a rank that calls nothing
  CHECK(done);
  ranks().finish();
  CHECK(values.back() == float(ranks().size()));
}

// Piece r of rank q has r + 1 bytes with the value q * 10 + r.
std::vector<std::byte> pieces_of(int rank, std::vector<int64_t>& ends) {
  std::vector<std::byte> bytes;
  ends.clear();
  for (int to = 0; to < ranks().size(); ++to) {
    bytes.insert(bytes.end(), size_t(to + 1), std::byte(rank * 10 + to));
    ends.push_back(int64_t(bytes.size()));
  }
  return bytes;
}

TEST_CASE("all-to-all, followed by an all-gather from its callback") {
  const int own = ranks().rank(), size = ranks().size();
  SplitBuffer<const std::byte> send;
  SplitBuffer<std::byte> receive, gathered;
  const std::vector<std::byte> sent = pieces_of(own, send.ends);
  std::vector<std::byte> received(size_t(size * (own + 1))), all(size_t(size * 3));
  send.data = sent.data();
  receive.data = received.data();
  gathered.data = all.data();
  for (int64_t r = 1; r <= size; ++r) {
    receive.ends.push_back(r * (own + 1));
    gathered.ends.push_back(r * 3);
  }
  ranks().start_all_to_all(send, receive, [&] {
    std::fill_n(all.begin() + own * 3, 3, received.back());  // the value from the last rank
    ranks().start_all_gather(gathered, [] {});
  });
  ranks().finish();
  for (int from = 0; from < size; ++from) {
    for (const std::byte b : receive.piece(from)) CHECK(int(b) == from * 10 + own);
    for (const std::byte b : gathered.piece(from)) CHECK(int(b) == (size - 1) * 10 + from);
  }
}

TEST_CASE("broadcast from any root") {
  for (int root = 0; root < ranks().size(); ++root) {
    std::vector<int32_t> values(1000, -1);
    if (ranks().rank() == root) std::iota(values.begin(), values.end(), root);
    ranks().broadcast(std::span<int32_t>(values), root);
    CHECK(values.front() == root);
    CHECK(values.back() == root + 999);
  }
}

TEST_CASE("texts are gathered in rank order, including empty ones") {
  const std::string own(size_t(ranks().rank() * 3), char('a' + ranks().rank()));
  const std::vector<std::string> texts = ranks().gather(own, 0);
  if (ranks().rank() != 0) {
    CHECK(texts.empty());
    return;
  }
  REQUIRE(int(texts.size()) == ranks().size());
  for (int r = 0; r < ranks().size(); ++r) CHECK(texts[size_t(r)] == std::string(size_t(r * 3), char('a' + r)));
}

TEST_CASE("broadcast_text sends a text from any rank to all") {
  const int last = ranks().size() - 1;
  CHECK(ranks().broadcast_text(ranks().rank() == last ? "from the last" : "", last) == "from the last");
  CHECK(ranks().broadcast_text("", 0).empty());
}

TEST_CASE("a failed call throws an error that names the call and the rank") {
  if (ranks().size() == 1) return;
  std::vector<int32_t> values(1);
  CHECK_THROWS_WITH_AS(ranks().broadcast(std::span<int32_t>(values), ranks().size()), doctest::Contains("MPI_Ibcast"),
                       Error);
}

// More elements than an int can count. Needs a machine with enough memory.
TEST_CASE("broadcast of more than 2^31 elements") {
  if (ranks().size() != 2) return;
  const int64_t elements = (int64_t{1} << 31) + 3;
  const int64_t free = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
  int64_t short_of_memory = free < 2 * ranks().size() * elements ? 1 : 0;
  ranks().all_reduce(std::span<int64_t>(&short_of_memory, 1));
  if (short_of_memory > 0) return report_skipped("needs " + std::to_string(4 * elements >> 30) + " GiB of free memory");
  std::vector<std::byte> bytes(size_t(elements), std::byte(ranks().rank()));
  ranks().broadcast(std::span<std::byte>(bytes), 1);
  CHECK(bytes.front() == std::byte(1));
  CHECK(bytes.back() == std::byte(1));
}

TEST_CASE("watchdog: a wait continues for slow ranks, but not for stuck or silent ones") {
  using Heartbeats = std::vector<std::optional<Heartbeat>>;
  const auto at = [](uint64_t waits, Phase phase, double seconds) {
    return Heartbeat{waits, true, {7, seconds, phase}};
  };
  const auto waits_on = [](const Heartbeats& heartbeats) { return is_making_progress(heartbeats, 0, 5, 10); };
  const std::optional<Heartbeat> self;
  CHECK(waits_on({self, at(4, Phase::backward, 9), at(5, Phase::reduction, 99)}));
  CHECK_FALSE(waits_on({self, at(4, Phase::backward, 11), at(5, Phase::reduction, 1)}));
  CHECK(waits_on({self, at(4, Phase::checkpoint, 99)}));
  CHECK_FALSE(waits_on({self, at(4, Phase::backward, 1), std::nullopt}));
  CHECK(waits_on({self, at(5, Phase::reduction, 1), at(5, Phase::reduction, 99)}));  // the first has just arrived
  CHECK_FALSE(waits_on({self, at(5, Phase::reduction, 11), at(5, Phase::reduction, 99)}));
}

TEST_CASE("watched work that is not done is no error while ranks advance or are in a phase that may take long") {
  constexpr double kTimeout = 0.5;
  ranks().barrier();
  ranks().set_watchdog_timeout(kTimeout);
  ranks().watch("test", [] { return false; });
  const Stopwatch watch;
  ranks().enter(ranks().rank() == 0 ? Phase::checkpoint : Phase::forward, 1);
  for (uint64_t update = 1; watch.seconds() < 4 * kTimeout; ++update) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (ranks().rank() != 0) ranks().enter(Phase::forward, update);
  }
  ranks().watch("", {});
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * kTimeout));
  ranks().set_watchdog_timeout(0);
  ranks().barrier();
}

TEST_CASE("all ranks of a node share its cores") {
  CHECK(ranks().local_rank() == ranks().rank());
  CHECK(ranks().cores() >= 1);
  int64_t cores = ranks().cores();
  ranks().all_reduce(std::span<int64_t>(&cores, 1));
  CHECK(cores <= std::max(int64_t(sysconf(_SC_NPROCESSORS_CONF)), int64_t(ranks().size())));
}

// ---- The communicator that records the times of its calls ----------------------------------------------------------

TEST_CASE("a traced communicator forwards all calls and records their times") {
  const Stopwatch watch;
  TracedCommunicator traced(ranks(), [watch] { return watch.seconds(); });
  std::vector<float> values(100'000, 1);
  double number = 1;
  bool gathered = false;
  std::vector<std::byte> bytes(size_t(traced.size()), std::byte(7));
  SplitBuffer<std::byte> pieces{bytes.data(), {}};
  for (int64_t r = 1; r <= traced.size(); ++r) pieces.ends.push_back(r);

  traced.start_all_reduce(values, [&] { traced.start_all_gather(pieces, [&] { gathered = true; }); });
  traced.finish();
  traced.all_reduce(std::span<double>(&number, 1));
  CHECK(values.back() == float(traced.size()));
  CHECK(number == traced.size());
  CHECK(gathered);
  CHECK(traced.gather("rank", 0).size() == (traced.rank() == 0 ? size_t(traced.size()) : 0));

  const std::vector<Exchange> all = traced.take();
  const auto find = [&](const std::string& name) -> const Exchange& {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Exchange& e) { return e.name == name; });
    REQUIRE_MESSAGE(found != all.end(), name);
    return *found;
  };
  const Exchange &sum = find("all-reduce"), &gather = find("all-gather"), &after = find("after all-reduce");
  CHECK(sum.kind == Exchange::Kind::background);
  CHECK(sum.bytes == 400'000);
  CHECK(sum.begin <= sum.end);
  CHECK(after.kind == Exchange::Kind::callback);
  CHECK(after.begin == sum.end);
  CHECK(gather.begin >= sum.end);  // the callback of the sum started it
  CHECK(gather.bytes == traced.size());
  CHECK(find("all-reduce of numbers").begin >= find("wait for gradients").end);
  CHECK(find("gathering of texts").kind == Exchange::Kind::waiting);
  CHECK(traced.take().empty());
}

}  // namespace
}  // namespace gyre::test
