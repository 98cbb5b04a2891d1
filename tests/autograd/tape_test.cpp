// Tests the tape: fan-out, parameters, observers, and the lifetime of saved tensors.
#include "gyre/autograd/tape.h"

#include <doctest/doctest.h>

#include <functional>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/autograd/ops.h"
#include "gyre/core/memory.h"
#include "tests/autograd/op_run.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

Tensor matrix_of(const std::vector<double>& row) { return Tensor::from<double>({1, int64_t(row.size())}, row); }

std::vector<double> gradient_of(const Tape& tape, const Var& leaf) { return tape.gradient(leaf).to_vector<double>(); }

// A model with an embedding tied to the output, layer norm, a linear layer, and an unused parameter.
struct SmallModel {
  Parameters parameters;
  Parameter &table, &w, &bias, &gamma, &beta, &unused;

  explicit SmallModel(DType dtype = DType::f32)
      : table(parameters.add("table", {11, 8}, Init::normal(0.5))),
        w(parameters.add("w", {8, 8}, Init::normal(0.5))),
        bias(parameters.add("bias", {8}, Init::normal(0.5))),
        gamma(parameters.add("gamma", {8}, Init::constant(1))),
        beta(parameters.add("beta", {8}, Init::constant(0))),
        unused(parameters.add("unused", {3}, Init::constant(0))) {
    parameters.allocate(1, dtype);
  }

  Var loss(Tape& tape, int64_t tokens) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < tokens; ++i) ids.push_back(int32_t(i * 7 % 11));
    const Tensor id_tensor = Tensor::from<int32_t>({tokens}, ids);
    const Var x = dropout(embedding(tape.parameter(table), id_tensor), 0.1);
    const Var normal = layer_norm(x, tape.parameter(gamma), tape.parameter(beta));
    const Var hidden = residual_dropout(x, gelu(linear(normal, tape.parameter(w), tape.parameter(bias))), 0.1);
    return linear_cross_entropy(hidden, tape.parameter(table), {}, id_tensor, {0.1}).loss;
  }
};

struct Recorder final : TapeObserver {
  std::vector<std::string> events;
  std::vector<std::string> ready;
  std::function<void(const Tape&)> after;
  void on_record(const Tape& tape, int node) override { note("record ", tape, node); }
  void before_backward(const Tape& tape, int node) override { note("before ", tape, node); }
  void after_backward(const Tape& tape, int node) override {
    note("after ", tape, node);
    if (after) after(tape);
  }
  void on_parameter_ready(Parameter& p) override {
    ready.push_back(p.name);
    events.push_back("ready " + p.name);
  }

 private:
  void note(const char* what, const Tape& tape, int node) {
    events.push_back(what + std::string(tape.nodes()[size_t(node)].name()));
  }
};

}  // namespace

TEST_CASE("a gradient passed on without a copy is never modified") {
  // Both gradients of `add` are the cotangent itself; x then gets a second one.
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(matrix_of({1, 2})), y = tape.leaf(matrix_of({5, 6}));
  const Var twice = scale(x, 2);
  const Tensor cotangent = matrix_of({10, 20});
  tape.backward(add(add(x, y), twice), cotangent);
  CHECK_EQ(gradient_of(tape, x), std::vector<double>{30, 60});
  CHECK_EQ(gradient_of(tape, y), std::vector<double>{10, 20});
  CHECK_EQ(cotangent.to_vector<double>(), std::vector<double>{10, 20});
}

TEST_CASE("a parameter gradient that aliases another is copied before accumulation") {
  // w's first gradient comes through add, without a copy; the second is added in place by linear.
  Tape tape(cpu_kernels(), {});
  const Var w = tape.leaf(matrix_of({1, 2})), x = tape.leaf(matrix_of({3, 4})), other = tape.leaf(matrix_of({0}));
  const Var product = linear(x, w);  // 11
  const Var y = add(linear(add(w, x), tape.constant(matrix_of({1, 1}))), add(product, other));
  tape.backward(y, matrix_of({1}));
  CHECK_EQ(gradient_of(tape, w), std::vector<double>{4, 5});
  CHECK_EQ(gradient_of(tape, x), std::vector<double>{2, 3});
  CHECK_EQ(gradient_of(tape, other), std::vector<double>{1});
}

TEST_CASE("backward starts at any node; leaves on which it does not depend get no gradient") {
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(matrix_of({1})), y = tape.leaf(matrix_of({1}));
  const Var early = scale(x, 3);
  add(early, scale(y, 5));
  tape.backward(early);
  CHECK_EQ(gradient_of(tape, x), std::vector<double>{3});
  CHECK_FALSE(tape.gradient(y).defined());
}

TEST_CASE("sparse gradients: the table is ready after its dense uses, and the total gradient is the same") {
  SmallModel model(DType::f64);
  const auto run = [&](Recorder& recorder) {
    model.parameters.gradients().zero();
    Tape tape(cpu_kernels(), {.training = true, .seed = 5});
    tape.add_observer(recorder);
    tape.backward(model.loss(tape, 6));
  };
  Recorder usual, apart;
  run(usual);
  CHECK_EQ(usual.ready, std::vector<std::string>{"w", "bias", "gamma", "beta", "table"});
  const Tensor expected = model.parameters.gradients().clone();
  std::vector<SparseGradient> rows;
  model.table.sparse_gradients = &rows;
  run(apart);
  CHECK_EQ(apart.ready, std::vector<std::string>{"table", "w", "bias", "gamma", "beta"});
  REQUIRE(rows.size() == 1);
  CHECK(model.table.gradient.to_vector<double>() != expected.slice(0, model.table.gradient.size()).to_vector<double>());
  cpu_kernels().embedding_backward(model.table.gradient, rows[0].gradient, rows[0].ids, rows[0].factor);
  for (int64_t i = 0; i < expected.size(); ++i)
    CHECK(model.parameters.gradients().data<double>()[i] == doctest::Approx(expected.data<double>()[i]).epsilon(1e-12));
}

TEST_CASE("sparse gradients: a table that is only looked up is ready at once") {
  SmallModel model;
  std::vector<SparseGradient> rows;
  model.table.sparse_gradients = &rows;
  Tape tape(cpu_kernels(), {});
  Recorder recorder;
  tape.add_observer(recorder);
  const Tensor ids = Tensor::from({2}, std::vector<int32_t>{3, 3});
  const Var x =
      linear(embedding(tape.parameter(model.table), ids, 2), tape.parameter(model.w), tape.parameter(model.bias));
  tape.backward(x, Tensor::zeros({2, 8}));
  CHECK_EQ(recorder.ready, std::vector<std::string>{"table", "w", "bias"});
}

TEST_CASE("a parameter used in several places is one leaf") {
  SmallModel model;
  Tape tape(cpu_kernels(), {});
  CHECK_EQ(tape.parameter(model.w).node(), tape.parameter(model.w).node());
}

TEST_CASE("initial values do not depend on the number of threads, and allocate_zeros draws none") {
  const auto initial = [](int threads) {
    const ThreadsInScope scope(threads);
    Parameters parameters;
    parameters.add("normal", {211, 173}, Init::normal(0.5));
    parameters.add("uniform", {16385}, Init::uniform(0.5));
    parameters.allocate(7);
    return parameters.values();
  };
  CHECK(same_bits(initial(1), initial(4)));

  Parameters zeros;
  Parameter& p = zeros.add("normal", {3, 5}, Init::normal(0.5));
  zeros.allocate_zeros(DType::f64);
  CHECK(p.value.to_vector<double>() == std::vector<double>(15, 0));
  CHECK(p.gradient.to_vector<double>() == std::vector<double>(15, 0));
}

TEST_CASE("parameters of two stores on one tape throw") {
  SmallModel a, b;
  Tape tape(cpu_kernels(), {});
  tape.parameter(a.w);
  CHECK_THROWS_AS(tape.parameter(b.w), Error);
}

TEST_CASE("on_parameter_ready is called once per used parameter, when its gradient is final") {
  SmallModel model;
  Tape tape(cpu_kernels(), {.training = true, .seed = 1});
  Recorder recorder;
  tape.add_observer(recorder);
  const Var loss = model.loss(tape, 6);
  CHECK(recorder.ready.empty());
  tape.backward(loss);
  // Backward reaches w and bias first, then gamma and beta. The tied table is final only after the embedding.
  CHECK_EQ(recorder.ready, std::vector<std::string>{"w", "bias", "gamma", "beta", "table"});
  CHECK_EQ(recorder.events.back(), "ready table");
}

TEST_CASE("a parameter that is not trainable is a constant") {
  SmallModel model;
  model.w.trainable = false;
  Tape tape(cpu_kernels(), {});
  Recorder recorder;
  tape.add_observer(recorder);
  tape.backward(model.loss(tape, 6));
  CHECK_EQ(recorder.ready, std::vector<std::string>{"bias", "gamma", "beta", "table"});
  CHECK_EQ(largest_magnitude({model.w.gradient}), 0);
  CHECK_GT(largest_magnitude({model.bias.gradient}), 0);
}

TEST_CASE("observers see every op in order: forward, then backward from the end") {
  Tape tape(cpu_kernels(), {});
  Recorder first, second;
  tape.add_observer(first);
  tape.add_observer(second);
  const Var x = tape.leaf(matrix_of({1, 2}));
  const Var scaled = scale(x, 2), rectified = relu(x);
  tape.backward(add(scaled, rectified), matrix_of({1, 1}));
  const std::vector<std::string> expected{"record scale", "record relu", "record add",   "before add", "after add",
                                          "before relu",  "after relu",  "before scale", "after scale"};
  CHECK_EQ(first.events, expected);
  CHECK_EQ(second.events, expected);
}

TEST_CASE("scopes set the module path of nodes") {
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(matrix_of({1}));
  const auto module = [&] { return tape.nodes()[size_t(scale(x, 2).node())].module; };
  {
    const Tape::Scope encoder(tape, "encoder");
    {
      const Tape::Scope layer(tape, "layer.0");
      CHECK_EQ(module(), "encoder.layer.0");
    }
    CHECK_EQ(module(), "encoder");
  }
  CHECK_EQ(module(), "");
}

TEST_CASE("a tape that does not record keeps nothing") {
  SmallModel model;
  Tape tape(cpu_kernels(), {.record = false});
  const size_t before = memory_stats().active_bytes;
  {
    const Var loss = model.loss(tape, 64);
    CHECK(tape.nodes().empty());
    CHECK_FALSE(loss.requires_gradient());
    CHECK_THROWS_AS(tape.backward(loss), Error);
  }
  CHECK_EQ(memory_stats().active_bytes, before);
}

TEST_CASE("backward frees saved tensors node by node") {
  const Tensor start = Tensor::zeros({64, 64});
  Tape tape(cpu_kernels(), {});
  Var y = tape.leaf(start);
  const Var leaf = y;
  for (int i = 0; i < 20; ++i) y = gelu(y);
  const size_t recorded = memory_stats().active_bytes;
  size_t last = recorded, after_half = 0, peak = 0;
  Recorder recorder;
  int nodes = 0;
  recorder.after = [&](const Tape&) {
    last = memory_stats().active_bytes;
    peak = std::max(peak, last);
    if (++nodes == 10) after_half = last;
  };
  tape.add_observer(recorder);
  tape.backward(y, normal_tensor({64, 64}, DType::f32, 1, 0));
  CHECK_EQ(nodes, 20);
  CHECK_LE(peak, recorded + 4 * start.bytes());  // cotangent and current gradients only, not one gradient per node
  CHECK_LE(after_half, recorded - 5 * start.bytes());
  CHECK_LE(last, recorded - 15 * start.bytes());
}

TEST_CASE("dropout masks are a pure function of the tape's seed") {
  const Tensor ones = normal_tensor({40, 30}, DType::f32, 1, 0);
  const auto two_dropouts = [&](uint64_t seed, bool training) {
    Tape tape(cpu_kernels(), {.training = training, .seed = seed});
    const Var x = tape.leaf(ones);
    return std::pair(dropout(x, 0.5).value(), dropout(x, 0.5).value());
  };
  const auto [a, b] = two_dropouts(7, true);
  const auto [a_again, b_again] = two_dropouts(7, true);
  const auto [c, d] = two_dropouts(8, true);
  CHECK(same_bits(a, a_again));
  CHECK(same_bits(b, b_again));
  CHECK_FALSE(same_bits(a, b));
  CHECK_FALSE(same_bits(a, c));
  CHECK_FALSE(same_bits(b, d));
  CHECK(same_bits(two_dropouts(7, false).first, ones));
}

TEST_CASE("dropout keeps a fraction 1 - rate of the elements and preserves the mean") {
  const Tensor ones = Tensor::from<float>({200, 200}, std::vector<float>(40000, 1.0f));
  for (double rate : {0.1, 0.3, 0.75}) {
    Tape tape(cpu_kernels(), {.training = true, .seed = 3});
    double kept = 0, sum = 0;
    const Tensor y = dropout(tape.leaf(ones), rate).value();
    for (float v : y.span<float>()) {
      kept += v != 0;
      sum += double(v);
    }
    CHECK_EQ(kept / 40000, doctest::Approx(1 - rate).epsilon(0.02));
    CHECK_EQ(sum / 40000, doctest::Approx(1).epsilon(0.02));
  }
}

TEST_CASE("backward and gradient throw for invalid calls") {
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(matrix_of({1, 2}));
  const Var y = scale(x, 2);
  CHECK_THROWS_WITH_AS(tape.backward(y), "[backward] an output of shape (1, 2) needs a cotangent", Error);
  CHECK_THROWS_WITH_AS(tape.backward(y, Tensor::zeros(y.shape(), DType::bf16)),
                       "[backward] the cotangent must have the output's dtype f64, got bf16", Error);
  CHECK_THROWS_AS(tape.backward(y, matrix_of({1})), Error);
  CHECK_THROWS_AS(tape.backward(tape.constant(matrix_of({1}))), Error);
  CHECK_THROWS_AS(tape.gradient(tape.constant(matrix_of({1}))), Error);
}

TEST_CASE("module paths: in_module") {
  CHECK(in_module("a.b", "a"));
  CHECK(in_module("a", "a"));
  CHECK(in_module("a", ""));
  CHECK_FALSE(in_module("ab", "a"));
  CHECK_FALSE(in_module("a", "a.b"));
  CHECK_FALSE(in_module("", "a"));
}

TEST_CASE("module paths: path_depth and path_prefix") {
  CHECK(path_depth("") == 0);
  CHECK(path_depth("encoder") == 1);
  CHECK(path_depth("encoder.layers.0") == 3);
  const std::string path = "encoder.layers.0.ffn";
  CHECK(path_prefix(path, 0).empty());
  CHECK(path_prefix(path, 1) == "encoder");
  CHECK(path_prefix(path, 3) == "encoder.layers.0");
  CHECK(path_prefix(path, 4) == path);
  CHECK(path_prefix(path, 9) == path);
  CHECK(path_prefix("", 2).empty());
}

// ---- Compares the FLOPs of ops and tapes with counts by hand and by loops ------------------------------------------

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
