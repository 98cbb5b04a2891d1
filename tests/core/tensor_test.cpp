#include "gyre/core/tensor.h"

#include <doctest/doctest.h>

#include "gyre/core/memory.h"
#include "gyre/core/segments.h"

using namespace gyre;

TEST_CASE("reshape and slice are views of the same storage") {
  const Tensor t = Tensor::from<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(t.reshape({3, 2}).shares_storage(t));
  const Tensor row = t.slice(1, 2);
  CHECK(row.shape() == Shape{1, 3});
  CHECK(row.to_vector<float>() == std::vector<float>{4, 5, 6});
  row.data<float>()[0] = 9;
  CHECK(t.data<float>()[3] == 9);
  CHECK_FALSE(t.clone().shares_storage(t));
}

TEST_CASE("a tensor viewed as a matrix has the last axis as its columns") {
  const Tensor t = Tensor::from<float>({2, 2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const MatrixSpan<float> m = matrix<float>(t);
  CHECK(m.rows() == 4);
  CHECK(m.cols() == 3);
  CHECK(m(3, 1) == 10);
  m(1, 2) = -5;
  CHECK(t.data<float>()[5] == -5);
  CHECK(m.row(1).size() == 3);
  CHECK(m.row(1)[2] == -5);
  CHECK(matrix<float>(Tensor::zeros({5})).rows() == 1);
  CHECK(matrix<float>(Tensor::zeros({0, 3})).rows() == 0);
  CHECK_THROWS_WITH_AS(matrix<double>(t), "[tensor] expected f64, got f32", Error);
}

TEST_CASE("dispatch_float calls with float or double, and rejects other types") {
  const auto bytes = [](DType type) {
    return dispatch_float(Tensor::zeros({1}, type), [](auto t) { return sizeof t; });
  };
  CHECK(bytes(DType::f32) == 4);
  CHECK(bytes(DType::f64) == 8);
  CHECK_THROWS_WITH_AS(bytes(DType::bf16), "[dtype] expected f32 or f64, got bf16", Error);
  CHECK_THROWS_WITH_AS(bytes(DType::i32), "[dtype] expected f32 or f64, got i32", Error);
}

TEST_CASE("errors of tensors contain the expected and the actual value") {
  const Tensor t = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(t.reshape({4, 2}), "[reshape] (2, 3) has 6 elements, (4, 2) needs 8", Error);
  CHECK_THROWS_WITH_AS(t.data<double>(), "[tensor] expected f64, got f32", Error);
  CHECK_THROWS_AS(t.slice(1, 3), Error);
  CHECK_THROWS_AS(Tensor::from<float>({2}, std::vector<float>{1}), Error);
}

TEST_CASE("a shape with too many elements is rejected") {
  const int64_t half = int64_t{1} << 32;
  CHECK_THROWS_WITH_AS(Shape({half, half}).elements(),
                       "[shape] (4294967296, 4294967296) has more elements than 64 bits can count", Error);
  CHECK_THROWS_AS(Shape({half / 2, half / 2, 2}).elements(), Error);  // 2^63
  CHECK_THROWS_AS(Shape({half / 8, half}).elements(), Error);         // 2^61 elements of up to 8 bytes
  CHECK(Shape({half / 32, half}).elements() == int64_t{1} << 59);
  CHECK(Shape({half, half, 0}).elements() == 0);
  CHECK_THROWS_AS(Tensor::zeros({half, half}), Error);
}

TEST_CASE("an out-of-memory error contains the number of bytes") {
  CHECK_THROWS_WITH_AS(Tensor::empty({int64_t{1} << 58}),
                       doctest::Contains("[memory] out of memory: a tensor of 1152921504606846976 bytes"), Error);
}

TEST_CASE("freed memory is reused") {
  { const Tensor warm = Tensor::empty({1000, 1000}); }
  const uint64_t before = memory_stats().system_allocations;
  for (int rows : {1000, 999, 990, 1000}) {
    const Tensor t = Tensor::empty({rows, 1000});
    CHECK(reinterpret_cast<uintptr_t>(t.raw()) % 64 == 0);
  }
  CHECK(memory_stats().system_allocations == before);
}

TEST_CASE("segments hold the offset and the length of each sequence") {
  const Segments s = Segments::from_lengths({3, 0, 2});
  CHECK(s.count() == 3);
  CHECK(s.tokens() == 5);
  CHECK(s.longest() == 3);
  CHECK(s.begin(2) == 3);
  CHECK(s.length(1) == 0);
  CHECK(s.end(2) == 5);
  CHECK_THROWS_AS(Segments({1, 2}), Error);
  CHECK_THROWS_AS(Segments::from_lengths({2, -1}), Error);
}
