#include "train/shard_tree.h"

#include <doctest/doctest.h>

#include "core/error.h"

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
        for (int s = own.begin; s < own.end; ++s) CHECK(owner_of_shard(shards, ranks, s) == rank);
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

TEST_CASE("one process adds its shards in the tree's order") {
  SelfCommunicator self;
  for (int shards = 1; shards <= 9; ++shards) {
    const Tensor sum = Tensor::zeros({1});
    ShardTree tree(self, cpu_kernels(), shards, sum);
    std::vector<double> values;
    for (int s = 0; s < shards; ++s) {
      values.push_back(s);
      *sum.data<float>() += float(s);
      tree.add_shard();
    }
    tree.finish();
    CHECK(*sum.data<float>() == float(tree_sum(values)));
  }
}

TEST_CASE("a shard that was left out is an error") {
  SelfCommunicator self;
  ShardTree tree(self, cpu_kernels(), 2, Tensor::zeros({1}));
  tree.add_shard();
  CHECK_THROWS_WITH_AS(tree.finish(), "[shards] finish: expected 2 shards, got 1", Error);
}

TEST_CASE("one process has no peer") {
  SelfCommunicator self;
  std::vector<float> values(1);
  CHECK_THROWS_AS(self.send(values, 1), Error);
  CHECK_THROWS_AS(self.receive(values, 1), Error);
}

}  // namespace
}  // namespace gyre
