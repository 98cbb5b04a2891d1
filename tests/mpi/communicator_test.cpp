#include "train/communicator.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "tests/mpi/ranks.h"

namespace gyre::test {
namespace {

// Sum over the ranks of (rank + 1) * factor.
double sum_of_ranks(double factor) { return factor * ranks().size() * (ranks().size() + 1) / 2; }

TEST_CASE("all ranks get the sums, in place") {
  const double own = ranks().rank() + 1;
  std::vector<double> reals{own, -2 * own};
  std::vector<int64_t> integers{int64_t(own), int64_t{1} << 40};
  ranks().all_reduce(std::span<double>(reals));
  ranks().all_reduce(std::span<int64_t>(integers));
  CHECK(reals == std::vector<double>{sum_of_ranks(1), sum_of_ranks(-2)});
  CHECK(integers == std::vector<int64_t>{int64_t(sum_of_ranks(1)), ranks().size() * (int64_t{1} << 40)});
}

TEST_CASE("background sums of several ranges") {
  std::vector<float> arena(300'000);
  for (size_t i = 0; i < arena.size(); ++i) arena[i] = float((ranks().rank() + 1) * double(i % 97));
  const std::span<float> all(arena);
  ranks().start_all_reduce(all.subspan(200'000));
  while (ranks().progress()) continue;
  ranks().start_all_reduce(all.subspan(7, 199'993));
  ranks().start_all_reduce(all.first(7));
  ranks().progress();
  ranks().finish_all_reduces();
  CHECK_FALSE(ranks().progress());
  for (size_t i = 0; i < arena.size(); ++i) REQUIRE(arena[i] == float(sum_of_ranks(double(i % 97))));
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

TEST_CASE("texts are gathered in rank order, empty ones too") {
  const std::string own(size_t(ranks().rank() * 3), char('a' + ranks().rank()));
  const std::vector<std::string> texts = ranks().gather(own, 0);
  if (ranks().rank() != 0) {
    CHECK(texts.empty());
    return;
  }
  REQUIRE(int(texts.size()) == ranks().size());
  for (int r = 0; r < ranks().size(); ++r) CHECK(texts[size_t(r)] == std::string(size_t(r * 3), char('a' + r)));
}

TEST_CASE("a chain of sends") {
  std::vector<float> values{0, 1};
  if (ranks().rank() > 0) ranks().receive(values, ranks().rank() - 1);
  values[0] += 1;
  if (ranks().rank() + 1 < ranks().size()) ranks().send(values, ranks().rank() + 1);
  CHECK(values[0] == float(ranks().rank() + 1));
  CHECK(values[1] == 1.0F);
}

TEST_CASE("a wrong call throws an error that names it and the rank") {
  if (ranks().size() == 1) return;
  std::vector<float> values(1);
  CHECK_THROWS_WITH_AS(ranks().send(values, ranks().size()), doctest::Contains("MPI_Send"), Error);
}

TEST_CASE("all ranks of one machine share its cores") {
  CHECK(ranks().node_ranks() == ranks().size());
  CHECK(ranks().local_rank() == ranks().rank());
  CHECK(ranks().cores() >= 1);
  int64_t cores = ranks().cores();
  ranks().all_reduce(std::span<int64_t>(&cores, 1));
  CHECK(cores <= std::max(int64_t(sysconf(_SC_NPROCESSORS_CONF)), int64_t(ranks().size())));
}

}  // namespace
}  // namespace gyre::test
