#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <vector>

#include "gyre/core/memory.h"
#include "gyre/core/random.h"

using namespace gyre;

namespace {

constexpr size_t kRegion = 1 << 16;

// A source of limited memory that records its regions.
struct System {
  size_t left;
  std::map<std::byte*, size_t> regions = {};

  ~System() {
    for (const auto& [region, bytes] : regions) std::free(region);
  }

  BlockPool::Source source() {
    return {[this](size_t bytes) {
              if (bytes > left) throw std::bad_alloc();
              left -= bytes;
              auto* region = static_cast<std::byte*>(std::aligned_alloc(BlockPool::kAlignment, bytes));
              regions[region] = bytes;
              return region;
            },
            [this](std::byte* region, size_t bytes) {
              REQUIRE(regions.at(region) == bytes);
              left += bytes;
              regions.erase(region);
              std::free(region);
            }};
  }

  bool holds(const std::byte* block, size_t bytes) const {
    return std::ranges::any_of(regions,
                               [&](const auto& r) { return r.first <= block && block + bytes <= r.first + r.second; });
  }
};

}  // namespace

TEST_CASE("blocks are disjoint and inside the regions, in any order of allocation and release") {
  System system{1 << 24};
  BlockPool pool(system.source(), kRegion);
  RandomStream random(1, 0);
  std::map<std::byte*, size_t> taken;
  size_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    if (taken.empty() || random.uniform() < 0.55) {
      const size_t bytes = random.uniform() < 0.05 ? kRegion + random.below(kRegion) : 1 + random.below(5000);
      std::byte* block = pool.take(bytes);
      CHECK(reinterpret_cast<uintptr_t>(block) % BlockPool::kAlignment == 0);
      CHECK(system.holds(block, bytes));
      const auto next = taken.lower_bound(block);
      if (next != taken.end()) CHECK(block + bytes <= next->first);
      if (next != taken.begin()) CHECK(std::prev(next)->first + std::prev(next)->second <= block);
      taken[block] = bytes;
      sum += (bytes + BlockPool::kAlignment - 1) / BlockPool::kAlignment * BlockPool::kAlignment;
    } else {
      const auto block = std::next(taken.begin(), int64_t(random.below(taken.size())));
      pool.give_back(block->first);
      sum -= (block->second + BlockPool::kAlignment - 1) / BlockPool::kAlignment * BlockPool::kAlignment;
      taken.erase(block);
    }
    CHECK(pool.stats().active_bytes == sum);
  }
  CHECK(pool.stats().system_allocations == system.regions.size());
  for (const auto& [block, bytes] : taken) pool.give_back(block);
  pool.release();
  CHECK(system.regions.empty());
  CHECK(pool.stats().cached_bytes == 0);
  CHECK(pool.stats().active_bytes == 0);
}

TEST_CASE("adjacent free blocks are merged") {
  System system{kRegion};
  BlockPool pool(system.source(), kRegion);
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 2, 0}}) {
    std::vector<std::byte*> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(pool.take(kRegion / 4));
    CHECK_THROWS_AS(pool.take(1), std::bad_alloc);
    for (const size_t i : order) pool.give_back(parts[i]);
    pool.give_back(pool.take(kRegion));
  }
  CHECK(pool.stats().system_allocations == 1);
  CHECK(pool.stats().peak_bytes == kRegion);
}

TEST_CASE("a pool out of memory returns idle regions to the system and retries") {
  System system{3 * kRegion};
  BlockPool pool(system.source(), kRegion);
  std::byte* kept = pool.take(64);
  pool.give_back(pool.take(2 * kRegion));
  pool.give_back(pool.take(2 * kRegion - 64));  // the same region
  CHECK_THROWS_AS(pool.take(3 * kRegion), std::bad_alloc);
  CHECK(system.regions.size() == 1);
  std::byte* large = pool.take(2 * kRegion);
  pool.give_back(large);
  pool.give_back(kept);
}

TEST_CASE("a pool whose system has no memory for a region takes a smaller one") {
  System system{kRegion + kRegion / 2};
  BlockPool pool(system.source(), kRegion);
  std::byte* first = pool.take(kRegion);
  std::byte *second = pool.take(kRegion / 4), *third = pool.take(kRegion / 4);
  CHECK(system.left == 0);
  CHECK(pool.stats().system_allocations == 2);
  CHECK_THROWS_AS(pool.take(1), std::bad_alloc);
  for (std::byte* block : {first, second, third}) pool.give_back(block);
  // The pool returns both regions to the system, which then has room for one of their joint size.
  pool.give_back(pool.take(kRegion + kRegion / 2));
}

TEST_CASE("blocks have the alignment of the pool") {
  System system{kRegion};
  BlockPool pool(system.source(), kRegion, 256);
  std::byte* first = pool.take(1);
  size_t active = 256;
  for (const size_t bytes : {0, 1, 255, 256, 257}) {
    CHECK((pool.take(bytes) - first) % 256 == 0);
    active += pool.block_bytes(bytes);
    CHECK(pool.stats().active_bytes == active);
  }
  CHECK(active == 7 * 256);
}
