// Tests the errors of ops for invalid arguments: the op's name, the expectation and the actual argument.
#include <doctest/doctest.h>

#include "gyre/autograd/ops.h"
#include "tests/errors.h"

using namespace gyre;

namespace {

struct Fixture {
  Tape tape{cpu_kernels(), {.training = true}};
  Var matrix(int64_t rows, int64_t cols) { return tape.leaf(Tensor::zeros({rows, cols})); }
  Var vector(int64_t n) { return tape.leaf(Tensor::zeros({n})); }
  Tensor ids(const std::vector<int32_t>& values) { return Tensor::from<int32_t>({int64_t(values.size())}, values); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "linear") {
  CHECK_EQ(error_of([&] { linear(matrix(3, 4), matrix(2, 5)); }),
           "[linear] expected x(n,d) and w(o,d), got (3, 4) and (2, 5)");
  CHECK_EQ(error_of([&] { linear(matrix(3, 4), matrix(2, 4), vector(3)); }), "[linear] the bias must be (2), got (3)");
}

TEST_CASE_FIXTURE(Fixture, "add and residual_dropout") {
  CHECK_EQ(error_of([&] { add(matrix(3, 4), matrix(4, 3)); }), "[add] shapes must be equal, got (3, 4) and (4, 3)");
  CHECK_EQ(error_of([&] { residual_dropout(matrix(3, 4), matrix(4, 3), 0.1); }),
           "[residual_dropout] shapes must be equal, got (3, 4) and (4, 3)");
}

TEST_CASE_FIXTURE(Fixture, "dropout rates") {
  CHECK_EQ(error_of([&] { dropout(matrix(1, 1), 1); }), "[dropout] the rate must be at least 0 and below 1, got 1");
  CHECK_EQ(error_of([&] { residual_dropout(matrix(1, 1), matrix(1, 1), -0.5); }),
           "[residual_dropout] the rate must be at least 0 and below 1, got -0.5");
  const Segments one = Segments::from_lengths({1});
  CHECK_EQ(error_of([&] { attention(matrix(1, 1), matrix(1, 2), one, one, {.dropout = 1.5}); }),
           "[attention] the rate must be at least 0 and below 1, got 1.5");
  CHECK_EQ(error_of([&] { residual_layer_norm(matrix(1, 1), matrix(1, 1), 2, vector(1), vector(1)); }),
           "[residual_layer_norm] the rate must be at least 0 and below 1, got 2");
  CHECK_EQ(error_of([&] { linear_activation(matrix(1, 1), matrix(1, 1), vector(1), Activation::relu, 1); }),
           "[linear_activation] the rate must be at least 0 and below 1, got 1");
}

TEST_CASE_FIXTURE(Fixture, "linear_activation rejects feature maps") {
  CHECK_EQ(error_of([&] { linear_activation(matrix(1, 1), matrix(1, 1), vector(1), Activation::elu_plus_one, 0); }),
           "[linear_activation] expected relu, gelu, tanh, silu or gelu_tanh, got elu_plus_one");
}

TEST_CASE_FIXTURE(Fixture, "rms_norm and gated_activation") {
  CHECK_EQ(error_of([&] { rms_norm(matrix(3, 4), vector(3)); }),
           "[rms_norm] the size of gamma must divide the 4 columns, got (3)");
  CHECK_EQ(error_of([&] { gated_activation(matrix(3, 5), Activation::silu); }),
           "[gated_activation] expected x(n, 2 * f), got (3, 5)");
}

TEST_CASE_FIXTURE(Fixture, "layer_norm") {
  CHECK_EQ(error_of([&] { layer_norm(matrix(3, 4), vector(3), vector(4)); }),
           "[layer_norm] gamma and beta must be (4), got (3) and (4)");
}

TEST_CASE_FIXTURE(Fixture, "residual_layer_norm") {
  CHECK_EQ(error_of([&] { residual_layer_norm(matrix(3, 4), matrix(2, 4), 0, vector(4), vector(4)); }),
           "[residual_layer_norm] shapes must be equal, got (3, 4) and (2, 4)");
  CHECK_EQ(error_of([&] { residual_layer_norm(matrix(3, 4), matrix(3, 4), 0, vector(4), vector(3)); }),
           "[residual_layer_norm] gamma and beta must be (4), got (4) and (3)");
}

TEST_CASE_FIXTURE(Fixture, "embedding") {
  CHECK_EQ(error_of([&] {
             embedding(matrix(3, 4), ids({0, 3}));
           }),
           "[embedding] ids must be below the table's 3 rows, got 3");
  CHECK_EQ(error_of([&] { embedding(matrix(3, 4), ids({-1})); }),
           "[embedding] ids must be below the table's 3 rows, got -1");
}

TEST_CASE_FIXTURE(Fixture, "segment_mean") {
  CHECK_EQ(error_of([&] {
             segment_mean(matrix(3, 4), Segments::from_lengths({1, 1}));
           }),
           "[segment_mean] expected x(n,d) of 2 rows, got (3, 4)");
  CHECK_EQ(error_of([&] {
             segment_mean(matrix(3, 4), Segments::from_lengths({3, 0}));
           }),
           "[segment_mean] expected at least one row in segment 1, got none");
}

TEST_CASE_FIXTURE(Fixture, "rope") {
  CHECK_EQ(error_of([&] { make_rotation(vector(3), 9, {.dims = 7}); }), "[rope] rotary dims must be even, got 7");
  CHECK_EQ(error_of([&] { make_rotation(vector(3), 9, {.dims = 8}); }), "[rope] expected 4 frequencies, got (3)");
  const RopeAngles rotation = make_rotation(vector(3), 9, {.heads = 2, .dims = 6});
  CHECK_EQ(error_of([&] { rope(matrix(1, 8), rotation, ids({0})); }),
           "[rope] rotary dims must be between 2 and the head width 4, got 6");
  CHECK_EQ(error_of([&] { rope(matrix(1, 13), rotation, ids({0})); }),
           "[rope] x must be (n, heads * width) with 2 heads, got (1, 13)");
  CHECK_EQ(error_of([&] { rope(matrix(1, 12), rotation, ids({0, 1})); }), "[rope] expected 1 positions, got 2");
  CHECK_EQ(error_of([&] { rope(matrix(1, 12), rotation, ids({9})); }),
           "[rope] positions must be below the 9 that have angles, got 9");
  CHECK_EQ(error_of([&] { rope(matrix(1, 12), rotation, ids({-1})); }),
           "[rope] positions must be below the 9 that have angles, got -1");
}

TEST_CASE_FIXTURE(Fixture, "attention") {
  const Segments three = Segments::from_lengths({1, 2}), two = Segments::from_lengths({2});
  CHECK_EQ(error_of([&] { attention(matrix(3, 4), matrix(3, 8), three, three, {.heads = 3}); }),
           "[attention] the width 4 must be a multiple of the 3 heads");
  CHECK_EQ(error_of([&] { attention(matrix(3, 4), matrix(3, 6), three, three, {}); }),
           "[attention] expected q(nq, heads * width) and kv(nk, 2 * key/value heads * width), got (3, 4) and (3, 6)");
  CHECK_EQ(error_of([&] { attention(matrix(3, 4), matrix(2, 8), three, two, {}); }),
           "[attention] expected as many segments of keys as of queries, 2, got 1");
  CHECK_EQ(error_of([&] { attention(matrix(3, 4), matrix(4, 8), three, three, {}); }),
           "[attention] the segments cover 3 queries and 3 keys, got 3 and 4");
  CHECK_EQ(error_of([&] { self_attention(matrix(3, 8), three, {}); }),
           "[attention] expected qkv(n, 3 * width), got (3, 8)");
  CHECK_EQ(error_of([&] { self_attention(matrix(3, 8), three, {.heads = 3, .kv_heads = 2}); }),
           "[attention] the 3 heads must be a multiple of the key/value heads, got 2");
  CHECK_EQ(error_of([&] { self_attention(matrix(3, 12), three, {.heads = 4, .kv_heads = 2}); }),
           "[attention] expected qkv(n, 8 * width), got (3, 12)");
  CHECK_EQ(error_of([&] { attention(matrix(3, 4), matrix(3, 2), matrix(3, 4), three, three, {}); }),
           "[attention] expected q(nq, heads * width), k and v(nk, key/value heads * width), got (3, 4), (3, 2) and "
           "(3, 4)");
  AttentionOptions options{.heads = 2, .rotation = make_rotation(vector(1), 2, {.dims = 2})};
  CHECK_EQ(error_of([&] { self_attention(matrix(3, 12), three, options); }),
           "[rope] expected a rotation of 2 heads, got 1");
  options.rotation.rotary.heads = 2;
  CHECK_EQ(error_of([&] { self_attention(matrix(3, 12), three, options); }), "[rope] expected 3 positions, got 0");
}

TEST_CASE_FIXTURE(Fixture, "losses") {
  CHECK_EQ(error_of([&] { cross_entropy(matrix(2, 3), ids({0})); }), "[cross_entropy] expected 2 targets, got 1");
  CHECK_EQ(error_of([&] { cross_entropy(matrix(1, 3), ids({3})); }),
           "[cross_entropy] targets must be below the vocabulary's size 3, got 3");
  CHECK_EQ(error_of([&] { linear_cross_entropy(matrix(1, 3), matrix(5, 4), {}, ids({0})); }),
           "[linear_cross_entropy] expected x(n,d) and w(v,d), got (1, 3) and (5, 4)");
  CHECK_EQ(error_of([&] { linear_cross_entropy(matrix(2, 3), matrix(5, 3), {}, ids({0})); }),
           "[linear_cross_entropy] expected 2 targets, got 1");
  CHECK_EQ(error_of([&] { linear_r_drop(matrix(3, 4), matrix(5, 4), {}, ids({0}), 0, 5); }),
           "[linear_r_drop] expected the rows of two passes, got 3 rows");
  CHECK_EQ(error_of([&] {
             linear_r_drop(matrix(4, 4), matrix(5, 4), {}, ids({0, 1, 2, 3}), 0, 5);
           }),
           "[linear_r_drop] expected 2 targets, got 4");
  CHECK_EQ(error_of([&] { linear_r_drop(matrix(2, 4), matrix(5, 4), vector(4), ids({0}), 0, 5); }),
           "[linear_r_drop] expected a bias of shape (5), got (4)");
  CHECK_EQ(error_of([&] { squared_error(matrix(3, 2), Tensor::zeros({3})); }),
           "[squared_error] predictions must be (n) or (n,1), got (3, 2)");
  CHECK_EQ(error_of([&] { squared_error(vector(3), Tensor::zeros({4})); }),
           "[squared_error] expected 3 targets, got 4");
  CHECK_EQ(error_of([&] { squared_error(vector(1), ids({4})); }), "[squared_error] targets must be f32, got i32");
  CHECK_EQ(error_of([&] { margin_loss(vector(3), 1); }), "[margin_loss] scores must be (2n) or (2n,1), got (3)");
  CHECK_EQ(error_of([&] { margin_loss(matrix(2, 2), 1); }), "[margin_loss] scores must be (2n) or (2n,1), got (2, 2)");
  CHECK_EQ(error_of([&] {
             binary_cross_entropy(matrix(3, 2), ids({0, 1, 1}));
           }),
           "[binary_cross_entropy] logits must be (n,1), got (3, 2)");
}
