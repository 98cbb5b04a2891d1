// Tests attention_weights(): the recomputed weights of an attention node on a tape.
#include <doctest/doctest.h>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"

using namespace gyre;

namespace {

constexpr int64_t kHeads = 2, kWidth = 3, kDim = kHeads * kWidth;

Tensor random_rows(int64_t n, int64_t d, uint64_t stream) { return normal_tensor({n, d}, DType::f64, 3, stream); }

double weight(const Tensor& weights, int64_t head, int64_t query, int64_t key) {
  return double(weights.data<float>()[(head * weights.dim(1) + query) * weights.dim(2) + key]);
}

// Checks one segment: each row of P sums to 1, and P times the segment's values is the output of the op.
void check_products(const Tensor& weights, const Tensor& out, const Tensor& values, int64_t first_column,
                    int64_t first_query, int64_t first_key) {
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t i = 0; i < weights.dim(1); ++i) {
      double sum = 0;
      for (int64_t j = 0; j < weights.dim(2); ++j) sum += weight(weights, h, i, j);
      CHECK(sum == doctest::Approx(1).epsilon(1e-6));
      for (int64_t c = h * kWidth; c < (h + 1) * kWidth; ++c) {
        double product = 0;
        for (int64_t j = 0; j < weights.dim(2); ++j)
          product +=
              weight(weights, h, i, j) * values.data<double>()[(first_key + j) * values.cols() + first_column + c];
        CHECK(product == doctest::Approx(out.data<double>()[(first_query + i) * kDim + c]).epsilon(1e-5));
      }
    }
  }
}

}  // namespace

TEST_CASE("attention weights: segments of causal self-attention with rotation") {
  const Segments segments = Segments::from_lengths({4, 11});
  std::vector<int32_t> places;
  for (int s = 0; s < segments.count(); ++s)
    for (int i = 0; i < segments.length(s); ++i) places.push_back(i);
  Tape tape(cpu_kernels(), {});
  const Tensor qkv = random_rows(15, 3 * kDim, 1);
  const RopeAngles rotation = make_rotation(tape.constant(Tensor::from<double>({1}, std::vector<double>{0.7})), 11,
                                            {.heads = kHeads, .dims = 2});
  const Tensor positions = Tensor::from({15}, places);
  const Var out = self_attention(tape.leaf(qkv), segments,
                                 {.heads = kHeads, .causal = true, .rotation = rotation, .query_positions = positions});
  for (int s = 0; s < segments.count(); ++s) {
    const Tensor weights = attention_weights(tape, out.node(), s);
    CHECK(weights.shape() == Shape{kHeads, segments.length(s), segments.length(s)});
    check_products(weights, out.value(), qkv, 2 * kDim, segments.begin(s), segments.begin(s));
    for (int64_t i = 0; i < weights.dim(1); ++i)
      for (int64_t j = i + 1; j < weights.dim(2); ++j) CHECK(weight(weights, 1, i, j) == 0);
  }
}

TEST_CASE("attention weights: cross-attention, without the dropout of training") {
  const Segments queries = Segments::from_lengths({2, 3}), keys = Segments::from_lengths({5, 7});
  const Tensor q = random_rows(5, kDim, 1), kv = random_rows(12, 2 * kDim, 2);
  Tape plain(cpu_kernels(), {}), training(cpu_kernels(), {.training = true, .seed = 4});
  const Tensor bias = random_rows(15, kHeads, 3);  // distances -7 to 7
  const auto weigh = [&](Tape& tape, double dropout) {
    PositionTerms terms;
    terms.bias = tape.constant(bias);
    terms.zero_offset = 7;
    return attention(tape.leaf(q), tape.leaf(kv), queries, keys, {.heads = kHeads, .dropout = dropout, .terms = terms});
  };
  const Var out = weigh(plain, 0), dropped = weigh(training, 0.5);
  const Tensor weights = attention_weights(plain, out.node(), 1);
  check_products(weights, out.value(), kv, kDim, 2, 5);
  CHECK(attention_weights(training, dropped.node(), 1).to_vector<float>() == weights.to_vector<float>());
}

TEST_CASE("attention weights: other nodes and missing segments throw") {
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(random_rows(2, 3 * kDim, 1));
  const Var y = scale(self_attention(x, Segments::from_lengths({2}), {.heads = kHeads}), 2);
  CHECK_THROWS_WITH_AS(attention_weights(tape, y.node(), 0),
                       "[attention inspection] expected a node of softmax attention, got scale", Error);
  CHECK_THROWS_WITH_AS(attention_weights(tape, y.node() - 1, 1),
                       "[attention inspection] expected a segment below 1, got 1", Error);
}
