#include "gyre/train/parallel/tree_reduction.h"

#include <doctest/doctest.h>

#include <vector>

#include "gyre/core/kernels/kernels.h"

namespace gyre {
namespace {

TEST_CASE("ranks own contiguous ranges of micro-batches of nearly equal size") {
  for (int micro_batches = 1; micro_batches <= 17; ++micro_batches) {
    for (int ranks = 1; ranks <= micro_batches; ++ranks) {
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const MicroBatchRange own = micro_batches_of_rank(micro_batches, ranks, rank);
        CHECK(own.begin == next);
        CHECK(own.count() >= micro_batches / ranks);
        CHECK(own.count() <= (micro_batches + ranks - 1) / ranks);
        next = own.end;
      }
      CHECK(next == micro_batches);
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

TEST_CASE("tree_sum adds numbers in the order of the tree") {
  const std::vector<double> v{1, 1e16, -1e16, 1, 3};
  CHECK(tree_sum(v) == ((v[0] + v[1]) + (v[2] + v[3])) + v[4]);
  CHECK(tree_sum(v) != (((v[0] + v[1]) + v[2]) + v[3]) + v[4]);
  CHECK(tree_sum({}) == 0);
}

TEST_CASE("the maximal subtrees of all ranks cover the tree") {
  CHECK(maximal_subtrees(8, {0, 8}) == std::vector<MicroBatchRange>{{0, 8}});
  CHECK(maximal_subtrees(8, {3, 6}) == std::vector<MicroBatchRange>{{3, 4}, {4, 6}});
  CHECK(maximal_subtrees(5, {1, 4}) == std::vector<MicroBatchRange>{{1, 2}, {2, 4}});
  for (int micro_batches = 1; micro_batches <= 17; ++micro_batches) {
    for (int ranks = 1; ranks <= micro_batches; ++ranks) {
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        for (const MicroBatchRange node :
             maximal_subtrees(micro_batches, micro_batches_of_rank(micro_batches, ranks, rank))) {
          CHECK(node.begin == next);
          next = node.end;
        }
      }
      CHECK(next == micro_batches);
    }
  }
}

// The reference sum in fp32.
float tree(const std::vector<double>& values, int begin, int end) {
  if (end - begin == 1) return float(values[size_t(begin)]);
  const int middle = tree_split(begin, end);
  return tree(values, begin, middle) + tree(values, middle, end);
}

Tensor number(double x) { return Tensor::from<float>({1}, {float(x)}); }

TEST_CASE("one process adds its micro-batches in the order of the tree, bucket by bucket") {
  for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
    SubtreeSums nodes(cpu_kernels(), micro_batches, {0, micro_batches});
    for (int update = 0; update < 2; ++update) {
      std::vector<double> values;
      for (int s = 0; s < micro_batches; ++s) {
        values.push_back(s == 3 ? 1e8 : s);
        if (s + 1 < micro_batches) nodes.end_micro_batch({number(values[size_t(s)]), number(-values[size_t(s)])});
      }
      for (const size_t bucket : {1, 0}) {
        const double sign = bucket == 0 ? 1 : -1;
        const Tensor last = number(sign * values.back());
        const std::vector<Tensor> sums = nodes.take(bucket, last);
        REQUIRE(sums.size() == 1);
        CHECK(sums[0].raw() == last.raw());
        CHECK(*last.data<float>() == float(sign) * tree(values, 0, micro_batches));
      }
      nodes.restart();
    }
  }
}

TEST_CASE("take() returns one sum per maximal subtree, the last in the tensor of the last micro-batch") {
  SubtreeSums nodes(cpu_kernels(), 8, {3, 6});  // [3, 4) and [4, 6)
  nodes.end_micro_batch({number(10)});
  nodes.end_micro_batch({number(1)});
  const std::vector<Tensor> sums = nodes.take(0, number(2));
  REQUIRE(sums.size() == 2);
  CHECK(*sums[0].data<float>() == 10);
  CHECK(*sums[1].data<float>() == 3);
}

}  // namespace
}  // namespace gyre
