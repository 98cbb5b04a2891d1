// Tests what inspection tools show of attention: weights without dropout, scores, factors of dropout, and angles.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"

using namespace gyre;

namespace {

constexpr int64_t kQueryHeads = 4, kKeyHeads = 2, kHeadWidth = 6;
constexpr int64_t kQueryDim = kQueryHeads * kHeadWidth, kKeyDim = kKeyHeads * kHeadWidth;

Tensor rows(int64_t n, int64_t d, uint64_t stream) { return normal_tensor({n, d}, DType::f32, 3, stream); }

float at(const Tensor& t, int64_t h, int64_t i, int64_t j) {
  return t.data<float>()[(h * t.dim(1) + i) * t.dim(2) + j];
}

// Softmax of the scores must be the weights, and keep P v the output of the op.
void check_parts(const Tape& tape, const Var& out, int segment, int64_t first_query) {
  const AttentionParts parts = attention_parts(tape, out.node(), segment);
  const Tensor weights = attention_weights(tape, out.node(), segment), output = out.value().to(DType::f32);
  REQUIRE(weights.shape() == parts.scores.shape());
  for (int64_t h = 0; h < kQueryHeads; ++h) {
    for (int64_t i = 0; i < weights.dim(1); ++i) {
      double sum = 0;
      for (int64_t j = 0; j < weights.dim(2); ++j) sum += std::exp(double(at(parts.scores, h, i, j)));
      for (int64_t j = 0; j < weights.dim(2); ++j)
        CHECK(std::exp(double(at(parts.scores, h, i, j))) / sum ==
              doctest::Approx(double(at(weights, h, i, j))).epsilon(1e-4));
      const int64_t first_value = h / (kQueryHeads / kKeyHeads) * kHeadWidth;
      for (int64_t f = 0; f < kHeadWidth; ++f) {
        double product = 0;
        for (int64_t j = 0; j < weights.dim(2); ++j)
          product += double(parts.keep ? at(parts.keep, h, i, j) : 1) * double(at(weights, h, i, j)) *
                     double(parts.v.data<float>()[j * kKeyDim + first_value + f]);
        CHECK(product ==
              doctest::Approx(double(output.data<float>()[(first_query + i) * kQueryDim + h * kHeadWidth + f]))
                  .epsilon(1e-4));
      }
    }
  }
}

}  // namespace

// The second segment has more keys than a head has features, which are columns of weights that are computed at once.
TEST_CASE("attention parts: groups of heads with rotation, causal, in several segments") {
  const Tensor positions = Tensor::from({14}, std::vector<int32_t>{0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tape tape(cpu_kernels(), {});
    const Rope rotation = make_rope(tape.constant(Tensor::from<float>({2}, {2, 0.5}).to(dtype)), 11,
                                    {.heads = kQueryHeads, .dims = 4, .pairs = RotaryPairs::half_split});
    const Var out =
        self_attention(tape.leaf(rows(14, kQueryDim + 2 * kKeyDim, 1).to(dtype)), Segments::from_lengths({3, 11}),
                       {.heads = kQueryHeads,
                        .kv_heads = kKeyHeads,
                        .causal = true,
                        .rotation = rotation,
                        .query_positions = positions});
    check_parts(tape, out, 0, 0);
    check_parts(tape, out, 1, 3);
    const AttentionParts parts = attention_parts(tape, out.node(), 1);
    CHECK(at(parts.scores, 0, 0, 1) == -INFINITY);
    CHECK(at(attention_weights(tape, out.node(), 1), 0, 0, 1) == 0);
    CHECK(!parts.keep);
    CHECK(!parts.position_scores);
    const float angle = parts.query_angles.data<float>()[2 * 2];  // position 2, frequency 2: 4, less a turn
    CHECK(angle == doctest::Approx(4 - 2 * std::numbers::pi).epsilon(1e-5));
  }
}

TEST_CASE("attention parts: position terms and dropout") {
  Tape tape(cpu_kernels(), {.training = true, .seed = 4});
  const Segments queries = Segments::from_lengths({2, 3}), keys = Segments::from_lengths({4, 6});
  PositionTerms terms;
  terms.bias = tape.constant(rows(13, kQueryHeads, 4));
  terms.query_table = tape.constant(rows(13, kHeadWidth, 5));
  terms.key_table = tape.constant(rows(13, kQueryDim, 6));
  terms.pos_queries = tape.constant(rows(6, kQueryHeads * 2, 7));
  terms.pos_keys = tape.constant(rows(6, kQueryHeads * 2, 8));
  terms.zero_offset = 6;
  const Var out = attention(tape.leaf(rows(5, kQueryDim, 1)), tape.leaf(rows(10, 2 * kKeyDim, 2)), queries, keys,
                            {.heads = kQueryHeads, .kv_heads = kKeyHeads, .dropout = 0.5, .terms = terms});
  check_parts(tape, out, 0, 0);
  check_parts(tape, out, 1, 2);
  const auto factors = attention_parts(tape, out.node(), 1).keep.to_vector<float>();
  CHECK(std::ranges::count(factors, 0.0F) > 0);
  CHECK(std::ranges::count(factors, 2.0F) > 0);
}

TEST_CASE("rope angles: those of the rows' positions, in -pi to pi") {
  Tape tape(cpu_kernels(), {});
  const Tensor positions = Tensor::from({2}, std::vector<int32_t>{3, 1});
  const Rope rotation =
      make_rope(tape.constant(Tensor::from<float>({1}, std::vector<float>{1.5})), 4, {.heads = 1, .dims = 2});
  const Var y = rope(tape.leaf(rows(2, 2, 1)), rotation, positions);
  const auto angles = rope_angles(tape, y.node()).to_vector<float>();
  CHECK(angles[0] == doctest::Approx(4.5 - 2 * std::numbers::pi));
  CHECK(angles[1] == doctest::Approx(1.5));
  CHECK_THROWS_WITH_AS(rope_angles(tape, y.node() - 1), "[rope angles] expected a node of rope, got leaf", Error);
}

TEST_CASE("cross-entropy parts: the gradient of the logits gives that of the input") {
  Tape tape(cpu_kernels(), {});
  const Tensor w = rows(7, 4, 2), targets = Tensor::from({3}, std::vector<int32_t>{6, -1, 2});
  const Var x = tape.leaf(rows(3, 4, 1));
  const LossResult result = linear_cross_entropy(x, tape.constant(w), {}, targets, {.smoothing = 0.1, .z_loss = 0.01});
  const CrossEntropyParts parts = cross_entropy_parts(tape, result.loss.node(), 2);
  CHECK(parts.logits.shape() == Shape{2, 7});
  tape.backward(result.loss);
  for (int64_t k = 0; k < 4; ++k) {
    double sum = 0;
    for (int64_t j = 0; j < 7; ++j) sum += double(parts.dlogits.data<float>()[j]) * double(w.data<float>()[j * 4 + k]);
    CHECK(double(tape.gradient(x).data<float>()[k]) == doctest::Approx(sum).epsilon(1e-4));
    CHECK(parts.dlogits.data<float>()[7 + k] == 0);  // no target
  }
}

TEST_CASE("attention weights: other nodes and missing segments throw") {
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(rows(2, 3 * kQueryDim, 1));
  const Var y = scale(self_attention(x, Segments::from_lengths({2}), {.heads = kQueryHeads}), 2);
  CHECK_THROWS_WITH_AS(attention_weights(tape, y.node(), 0),
                       "[attention inspection] expected a node of softmax attention, got scale", Error);
  CHECK_THROWS_WITH_AS(attention_weights(tape, y.node() - 1, 1),
                       "[attention inspection] expected a segment below 1, got 1", Error);
}
