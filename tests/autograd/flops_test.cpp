// Compares the FLOPs of ops and tapes with counts by hand and by loops.
#include <doctest/doctest.h>

#include <functional>

#include "gyre/autograd/ops.h"

using namespace gyre;

namespace {

double flops_of(const std::function<void(Tape&)>& work, bool record = true) {
  Tape tape(cpu_kernels(), {.record = record, .training = true});
  work(tape);
  return tape.flops();
}

Tensor ids(const std::vector<int32_t>& values) { return Tensor::from({int64_t(values.size())}, values); }

double attention_flops(const std::vector<int32_t>& queries, const std::vector<int32_t>& keys, bool causal) {
  return flops_of([&](Tape& tape) {
    const Segments q = Segments::from_lengths(queries), k = Segments::from_lengths(keys);
    const Var queries_only = tape.leaf(Tensor::zeros({q.tokens(), 6}));
    attention(queries_only, tape.leaf(Tensor::zeros({k.tokens(), 12})), q, k, {.heads = 2, .causal = causal});
  });
}

// Counts pair by pair: q . k and p v each take one multiply-add per feature.
double counted(const std::vector<int32_t>& queries, const std::vector<int32_t>& keys, bool causal) {
  double flops = 0;
  for (size_t s = 0; s < queries.size(); ++s)
    for (int i = 0; i < queries[s]; ++i)
      for (int j = 0; j < keys[s]; ++j) flops += !causal || j <= i + keys[s] - queries[s] ? 2 * 2 * 6 : 0;
  return flops;
}

}  // namespace

TEST_CASE("flops: two per multiply-add of a product") {
  const auto product = [](Tape& tape) {
    linear(tape.leaf(Tensor::zeros({3, 5})), tape.leaf(Tensor::zeros({7, 5})), tape.leaf(Tensor::zeros({7})));
  };
  CHECK(flops_of(product) == 2 * 3 * 5 * 7);
  CHECK(flops_of(product, false) == 2 * 3 * 5 * 7);  // without recording
  CHECK(flops_of([](Tape& tape) {
          linear_cross_entropy(tape.leaf(Tensor::zeros({3, 5})), tape.leaf(Tensor::zeros({11, 5})), {}, ids({1, 0, 4}));
        }) == 2 * 3 * 5 * 11);
  CHECK(flops_of([](Tape& tape) {
          linear_r_drop(tape.leaf(Tensor::zeros({6, 5})), tape.leaf(Tensor::zeros({11, 5})), {}, ids({1, 0, 4}), 0, 5);
        }) == 2 * 6 * 5 * 11);
}

TEST_CASE("flops: attention counts only visible pairs") {
  const std::vector<int32_t> lengths{1, 4, 0, 9}, others{3, 2, 5, 9};
  for (bool causal : {false, true}) {
    CAPTURE(causal);
    CHECK(attention_flops(lengths, lengths, causal) == counted(lengths, lengths, causal));
    CHECK(attention_flops(lengths, others, causal) == counted(lengths, others, causal));
    CHECK(attention_flops(others, lengths, causal) == counted(others, lengths, causal));
  }
}

TEST_CASE("flops: ops other than products count 0, and a tape sums its ops") {
  CHECK(flops_of([](Tape& tape) {
          const Var x = tape.leaf(Tensor::zeros({3, 4}));
          const Var gain = tape.leaf(Tensor::zeros({4}));
          dropout(gelu(layer_norm(add(embedding(x, ids({0, 2, 1})), x), gain, gain)), 0.5);
        }) == 0);
  CHECK(flops_of([](Tape& tape) {
          const Var x = tape.leaf(Tensor::zeros({3, 4})), w = tape.leaf(Tensor::zeros({4, 4}));
          tape.backward(linear(linear(x, w), w), Tensor::zeros({3, 4}));
        }) == 2 * 2 * 3 * 4 * 4);
}
