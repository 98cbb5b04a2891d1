#include "train/shard_tree.h"

#include <doctest/doctest.h>

#include <vector>

#include "core/kernels.h"

namespace gyre {
namespace {

TEST_CASE("ranks own contiguous ranges of shards, as even as possible") {
  for (int shards = 1; shards <= 17; ++shards) {
    for (int ranks = 1; ranks <= shards; ++ranks) {
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ShardRange own = shards_of_rank(shards, ranks, rank);
        CHECK(own.begin == next);
        CHECK(own.count() >= shards / ranks);
        CHECK(own.count() <= (shards + ranks - 1) / ranks);
        next = own.end;
      }
      CHECK(next == shards);
    }
  }
}

TEST_CASE("the left half of a node is the largest power of two below its size") {
  CHECK(tree_split(0, 2) == 1);
  CHECK(tree_split(0, 3) == 2);
  CHECK(tree_split(0, 4) == 2);
  CHECK(tree_split(4, 9) == 8);
  CHECK(tree_split(0, 8) == 4);
}

TEST_CASE("numbers are added in the tree's order") {
  const std::vector<double> v{1, 1e16, -1e16, 1, 3};
  CHECK(tree_sum(v) == ((v[0] + v[1]) + (v[2] + v[3])) + v[4]);
  CHECK(tree_sum(v) != (((v[0] + v[1]) + v[2]) + v[3]) + v[4]);
  CHECK(tree_sum({}) == 0);
}

TEST_CASE("the whole nodes of all ranks make up the tree") {
  CHECK(whole_nodes(8, {0, 8}) == std::vector<ShardRange>{{0, 8}});
  CHECK(whole_nodes(8, {3, 6}) == std::vector<ShardRange>{{3, 4}, {4, 6}});
  CHECK(whole_nodes(5, {1, 4}) == std::vector<ShardRange>{{1, 2}, {2, 4}});
  for (int shards = 1; shards <= 17; ++shards) {
    for (int ranks = 1; ranks <= shards; ++ranks) {
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        for (const ShardRange node : whole_nodes(shards, shards_of_rank(shards, ranks, rank))) {
          CHECK(node.begin == next);
          next = node.end;
        }
      }
      CHECK(next == shards);
    }
  }
}

// In fp32.
float tree(const std::vector<double>& values, int begin, int end) {
  if (end - begin == 1) return float(values[size_t(begin)]);
  const int middle = tree_split(begin, end);
  return tree(values, begin, middle) + tree(values, middle, end);
}

TEST_CASE("one process adds its shards in the tree's order, range by range") {
  for (int shards = 1; shards <= 9; ++shards) {
    const Tensor sum = Tensor::zeros({2});
    ShardNodes nodes(cpu_kernels(), shards, {0, shards}, sum);
    for (int update = 0; update < 2; ++update) {
      sum.zero();
      std::vector<double> values;
      for (int s = 0; s < shards; ++s) {
        values.push_back(s == 3 ? 1e8 : s);
        for (float& x : sum.span<float>()) x += float(values.back());
        if (s + 1 < shards) nodes.end_shard();
      }
      nodes.take_last(1, 2);
      nodes.take_last(0, 1);
      REQUIRE(nodes.sums(0, 2).size() == 1);
      CHECK(nodes.sums(0, 2)[0].raw() == sum.raw());
      for (const float x : sum.span<float>()) CHECK(x == tree(values, 0, shards));
      nodes.restart();
    }
  }
}

TEST_CASE("the sums of a rank's nodes, the last in the accumulator") {
  const Tensor sum = Tensor::zeros({1});
  ShardNodes nodes(cpu_kernels(), 8, {3, 6}, sum);  // [3, 4) and [4, 6)
  for (const float x : {10.0F, 1.0F, 2.0F}) {
    *sum.data<float>() += x;
    if (x != 2) nodes.end_shard();
  }
  nodes.take_last(0, 1);
  const std::vector<Tensor> sums = nodes.sums(0, 1);
  REQUIRE(sums.size() == 2);
  CHECK(*sums[0].data<float>() == 10);
  CHECK(*sums[1].data<float>() == 3);
}

}  // namespace
}  // namespace gyre
