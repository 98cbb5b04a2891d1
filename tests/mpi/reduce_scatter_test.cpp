// Sums over the ranks in shared memory, by messages, and by both.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/train/parallel/all_reduce.h"
#include "gyre/train/parallel/mpi/mpi_window.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "tests/mpi/ranks.h"

namespace gyre::test {
namespace {

// The ranks of this test program as if they ran on several machines: ranks of one machine share memory, and exchange
// messages with the others.
class FakeMachines final : public Communicator {
 public:
  // Collective. machine_of: by rank.
  explicit FakeMachines(const std::vector<int>& machine_of) : machines_(machine_of) {
    inner_.with_callbacks_paused([&] {
      GYRE_MPI(MPI_Comm_split(MPI_COMM_WORLD, machine_of[size_t(rank())], rank(), &machine_));
      std::string obstacle;
      window_ = MpiWindow::allocate(machine_, 2 * WindowPipeline::kSegmentBytes, obstacle);
      require(window_ != nullptr, obstacle);
    });
    for (int lane = 0; lane < 2; ++lane)
      lanes_.push_back(std::make_unique<WindowPipeline>(window_->segments(lane * WindowPipeline::kSegmentBytes)));
  }
  ~FakeMachines() override {
    inner_.barrier();
    inner_.with_callbacks_paused([&] {
      window_.reset();
      MPI_Comm_free(&machine_);
    });
  }
  FakeMachines(const FakeMachines&) = delete;
  FakeMachines& operator=(const FakeMachines&) = delete;

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int local_rank() const override { return machines_.index_of(rank()); }
  int cores() const override { return inner_.cores(); }
  Machines machines() const override { return machines_; }
  std::string name() const override { return inner_.name(); }
  void set_watchdog_timeout(double seconds) override { inner_.set_watchdog_timeout(seconds); }
  void barrier() override { inner_.barrier(); }
  using Communicator::broadcast;
  void broadcast(std::span<std::byte> bytes, int root) override { inner_.broadcast(bytes, root); }
  void all_reduce(std::span<double> values) override { inner_.all_reduce(values); }
  void all_reduce(std::span<int64_t> values) override { inner_.all_reduce(values); }
  std::vector<std::string> gather(const std::string& text, int root) override { return inner_.gather(text, root); }
  void start_all_reduce(std::span<float> values, Callback callback) override {
    inner_.start_all_reduce(values, counted(std::move(callback)));
  }
  void start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                        Callback callback) override {
    inner_.start_all_to_all(send, receive, counted(std::move(callback)));
  }
  void start_all_gather(const SplitBuffer<std::byte>& pieces, Callback callback) override {
    inner_.start_all_gather(pieces, counted(std::move(callback)));
  }
  void start_partial_gather(const SplitBuffer<std::byte>& pieces, const Sends& sends, Callback callback) override {
    inner_.start_partial_gather(pieces, sends, counted(std::move(callback)));
  }
  bool shares_memory() override { return true; }
  void start_shared(Lane lane, std::unique_ptr<WindowTask> task, Callback callback) override {
    inner_.with_callbacks_paused([&] { lanes_[size_t(lane)]->start(std::move(task), counted(std::move(callback))); });
  }
  void with_callbacks_paused(const std::function<void()>& f) override { inner_.with_callbacks_paused(f); }
  void progress() override {
    inner_.with_callbacks_paused([&] {
      for (const auto& lane : lanes_) lane->advance();
      inner_.progress();
    });
  }
  void finish() override {
    for (bool done = false; !done;) {
      progress();
      inner_.with_callbacks_paused([&] { done = started_ == 0; });
      std::this_thread::yield();
    }
  }
  void watch(std::string what, std::function<bool()> are_done) override {
    inner_.watch(std::move(what), std::move(are_done));
  }
  void abort(int status) noexcept override { inner_.abort(status); }

 private:
  // The callbacks and this counter are guarded by with_callbacks_paused().
  Callback counted(Callback callback) {
    inner_.with_callbacks_paused([&] { ++started_; });
    return [this, callback = std::move(callback)] {
      callback();
      --started_;
    };
  }

  Communicator& inner_ = ranks();
  Machines machines_;
  MPI_Comm machine_ = MPI_COMM_NULL;
  std::unique_ptr<MpiWindow> window_;
  std::vector<std::unique_ptr<WindowPipeline>> lanes_;
  int started_ = 0;
};

// Shorter than a slice of every rank, of odd size, and larger than the window.
const std::vector<int64_t> kSizes{1, 17, 4096, 5001, 700'001};

struct Sums {
  std::vector<Tensor> parts;  // the last one receives the sum
  int owner = kSharedByRanks;
};

// The parts of this rank of several ranges: its maximal subtrees, or one. Every second range belongs to one rank.
std::vector<Sums> make_parts(int tree_leaves) {
  const int rank = ranks().rank(), size = ranks().size();
  const size_t count =
      tree_leaves == 0 ? 1 : maximal_subtrees(tree_leaves, micro_batches_of_rank(tree_leaves, size, rank)).size();
  std::vector<Sums> all;
  for (size_t range = 0; range < 2 * kSizes.size(); ++range) {
    Sums sums{{}, range % 2 == 0 ? kSharedByRanks : int(range) % size};
    for (size_t part = 0; part < count; ++part) {
      const Tensor values = Tensor::empty({kSizes[range / 2]});
      for (int64_t i = 0; i < values.size(); ++i)
        values.data<float>()[i] = std::sin(float(i % 997) + float(100 * rank) + 10 * float(part));
      sums.parts.push_back(values);
    }
    all.push_back(std::move(sums));
  }
  return all;
}

// Sums all ranges at once; returns what this rank may read of the sums.
std::vector<std::vector<float>> sums_over(Communicator& communicator, const AllReduceOptions& options) {
  const auto sum = make_reduce_scatter(communicator, options);
  std::vector<std::vector<float>> results;
  for (int round = 0; round < 2; ++round) {  // a reducer is used for every update
    const std::vector<Sums> all = make_parts(options.tree_leaves);
    for (const auto& [parts, owner] : all) sum->start(parts, owner);
    sum->finish();
    for (const auto& [parts, owner] : all) {
      const SplitBuffer<float> slices{parts.back().data<float>(),
                                      shard_ends(parts.back().size(), ranks().size(), owner)};
      const std::span<float> own = options.sharded ? slices.piece(ranks().rank()) : parts.back().span<float>();
      results.emplace_back(own.begin(), own.end());
    }
  }
  return results;
}

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    if (!a[i].empty() && std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) return false;
  }
  return a.size() == b.size();
}

std::vector<AllReduceOptions> all_options() {
  std::vector<AllReduceOptions> all;
  for (const bool sharded : {false, true}) {
    all.push_back({.sharded = sharded});
    all.push_back({.comm_dtype = DType::bf16, .sharded = sharded});
    for (const int leaves : {8, 13}) all.push_back({.tree_leaves = leaves, .sharded = sharded});
  }
  return all;
}

TEST_CASE("sums in shared memory have the same bits as by messages") {
  if (ranks().size() == 1) return;
  REQUIRE(ranks().shares_memory());
  for (AllReduceOptions options : all_options()) {
    const auto shared = sums_over(ranks(), options);
    options.shared_memory = false;
    CHECK(same_bits(shared, sums_over(ranks(), options)));
  }
}

// Every rank has the same bits; they are near the exact sums.
void check_sums(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& expected,
                double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    REQUIRE(got[i].size() == expected[i].size());
    double worst = 0;
    for (size_t j = 0; j < got[i].size(); ++j) worst = std::max(worst, double(std::abs(got[i][j] - expected[i][j])));
    CHECK(worst <= tolerance);
  }
}

TEST_CASE("sums over several machines") {
  const int size = ranks().size();
  if (size == 1) return;
  std::vector<std::vector<int>> layouts(4, std::vector<int>(size_t(size)));
  for (int rank = 0; rank < size; ++rank) {
    layouts[0][size_t(rank)] = rank / 2;           // two ranks on each machine
    layouts[1][size_t(rank)] = rank % 2;           // in turns
    layouts[2][size_t(rank)] = rank == size - 1;   // one machine has a single rank
    layouts[3][size_t(rank)] = rank == 1 ? 7 : 3;  // the single rank lies between others
  }
  for (const std::vector<int>& machine_of : layouts) {
    FakeMachines machines(machine_of);
    for (AllReduceOptions options : all_options()) {
      CAPTURE(options.tree_leaves);
      CAPTURE(options.sharded);
      const auto got = sums_over(machines, options);
      options.shared_memory = false;
      const auto expected = sums_over(ranks(), options);
      if (options.tree_leaves > 0) {
        CHECK(same_bits(got, expected));  // the tree fixes the order
      } else {
        // bf16: each of the two roundings is within 2^-9 of a sum of at most `size`.
        check_sums(got, expected, options.comm_dtype == DType::bf16 ? size / 32.0 : 1e-5);
        if (!options.sharded) {
          std::vector<double> checksum{double(got.back()[0]), double(got.back().back())};
          std::vector<double> total = checksum;
          machines.all_reduce(std::span<double>(total));
          CHECK(total[0] == size * checksum[0]);
          CHECK(total[1] == size * checksum[1]);
        }
      }
    }
  }
}

TEST_CASE("all_gather_shards: every rank receives the slices of all others") {
  const int size = ranks().size(), rank = ranks().rank();
  if (size == 1) return;
  std::vector<int> pairs;
  for (int r = 0; r < size; ++r) pairs.push_back(r / 2);
  FakeMachines machines(pairs);
  const auto expect_all = [&](Communicator& communicator, bool shared_memory) {
    std::vector<ShardedRange> ranges;
    for (const int64_t n : kSizes) {
      for (const int owner : {kSharedByRanks, size - 1}) {
        const Tensor values = Tensor::empty({n});
        const SplitBuffer<float> slices{values.data<float>(), shard_ends(n, size, owner)};
        for (int r = 0; r < size; ++r) {
          for (float& x : slices.piece(r)) x = r == rank ? float(r + 1) : -1;
        }
        ranges.push_back({values, owner});
      }
    }
    all_gather_shards(communicator, ranges, shared_memory);
    for (const auto& [values, owner] : ranges) {
      const SplitBuffer<float> slices{values.data<float>(), shard_ends(values.size(), size, owner)};
      for (int r = 0; r < size; ++r) {
        int64_t wrong = 0;
        for (const float x : slices.piece(r)) wrong += x != float(r + 1);
        CHECK(wrong == 0);
      }
    }
  };
  expect_all(ranks(), true);
  expect_all(ranks(), false);
  expect_all(machines, true);
}

TEST_CASE("infinities and NaN of one rank reach all ranks") {
  for (const bool shared_memory : {true, false}) {
    const auto sum = make_reduce_scatter(ranks(), {.shared_memory = shared_memory});
    const Tensor values = Tensor::zeros({10'000});
    if (ranks().rank() == ranks().size() - 1) {
      values.data<float>()[1] = std::numeric_limits<float>::infinity();
      values.data<float>()[9'999] = std::numeric_limits<float>::quiet_NaN();
    }
    sum->start({values}, kSharedByRanks);
    sum->finish();
    CHECK(values.data<float>()[0] == 0);
    CHECK(values.data<float>()[1] == std::numeric_limits<float>::infinity());
    CHECK(std::isnan(values.data<float>()[9'999]));
  }
}

}  // namespace
}  // namespace gyre::test
