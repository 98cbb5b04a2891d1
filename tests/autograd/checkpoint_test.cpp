// Tests checkpoints of the tape: backward computes them again, with the same bits, order of parameters and memory
// that is free as soon as a checkpoint is done.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/autograd/inspect/timeline.h"
#include "gyre/autograd/ops.h"
#include "gyre/autograd/tape.h"
#include "gyre/core/memory.h"
#include "tests/autograd/op_run.h"

using namespace gyre;

namespace {

constexpr int64_t kTokens = 6, kModelDim = 8, kFfnDim = 32;
constexpr int kLayers = 4;

// Residual layers, each of which is a checkpoint if the tape says so. The table is also the output, and all layers
// share the bias of fc2; the scale of each layer is a value from outside.
struct Layers {
  Parameters parameters;
  Parameter &table, &shared_bias, &unused;
  std::vector<Parameter*> gammas, fc1s, fc2s;

  explicit Layers(DType dtype = DType::f32)
      : table(parameters.add_table("table", {11, kModelDim}, Init::normal(0.5))),
        shared_bias(parameters.add("shared_bias", {kModelDim}, Init::normal(0.5))),
        unused(parameters.add("unused", {3}, Init::constant(0))) {
    for (int i = 0; i < kLayers; ++i) {
      gammas.push_back(&parameters.add(concat("gamma", i), {kModelDim}, Init::constant(1)));
      fc1s.push_back(&parameters.add(concat("fc1.", i), {kFfnDim, kModelDim}, Init::normal(0.3)));
      fc2s.push_back(&parameters.add(concat("fc2.", i), {kModelDim, kFfnDim}, Init::normal(0.3)));
    }
    parameters.allocate(1, dtype);
  }

  Var layer(const Var& x, const Var& outside, size_t i) {
    Tape& tape = x.tape();
    const Tape::Scope scope(tape, concat("layer", i));
    const Var hidden = linear_activation(add(rms_norm(x, tape.parameter(*gammas[i])), outside),
                                         tape.parameter(*fc1s[i]), {}, Activation::gelu, 0.1);
    return residual_dropout(x, linear(hidden, tape.parameter(*fc2s[i]), tape.parameter(shared_bias)), 0.2);
  }

  Var loss(Tape& tape) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < kTokens; ++i) ids.push_back(int32_t(i * 7 % 11));
    const Tensor id_tensor = Tensor::from<int32_t>({kTokens}, ids);
    Var x = dropout(embedding(tape.parameter(table), id_tensor), 0.1);
    const Var outside = scale(x, 0.5);
    for (size_t i = 0; i < kLayers; ++i)
      x = tape.checkpoint(Recompute::block, [this, x, outside, i] { return layer(x, outside, i); });
    return linear_cross_entropy(dropout(x, 0.1), tape.parameter(table), {}, id_tensor, {0.1}).loss;
  }
};

struct Events final : TapeObserver {
  std::vector<std::string> recorded, finished, ready;
  std::vector<size_t> memory;  // bytes after the backward pass of each node
  void on_record(const Tape& tape, int node) override { recorded.push_back(name(tape, node)); }
  void after_backward(const Tape& tape, int node) override {
    finished.push_back(name(tape, node));
    memory.push_back(memory_stats().active_bytes);
  }
  void on_parameter_ready(Parameter& p) override { ready.push_back(p.name); }
  static std::string name(const Tape& tape, int node) { return std::string(tape.nodes()[size_t(node)].name()); }
};

struct Result {
  Tensor loss, gradients;
  double flops = 0;
};

Result train(Layers& model, Tape::Options options, TapeObserver* observer = nullptr) {
  model.parameters.gradients().zero();
  options.training = true;
  options.seed = 5;
  Tape tape(cpu_kernels(), options);
  if (observer != nullptr) tape.add_observer(*observer);
  const Var loss = model.loss(tape);
  tape.backward(loss);
  return {loss.value(), model.parameters.gradients().clone(), tape.flops()};
}

}  // namespace

TEST_CASE("a checkpoint has the same loss and gradients, bit for bit, and the same FLOPs") {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::bf16 && !cpu_kernels().has_bf16()) continue;
    for (const bool loss_seeded : {false, true}) {
      Layers model;
      const Result kept = train(model, {.precision = precision, .loss_seeded = loss_seeded});
      const Result again =
          train(model, {.precision = precision, .loss_seeded = loss_seeded, .recompute = Recompute::block});
      CHECK(same_bits(again.loss, kept.loss));
      CHECK(same_bits(again.gradients, kept.gradients));
      CHECK(again.flops == kept.flops);
      CHECK_GT(largest_magnitude({kept.gradients}), 0.01);
    }
  }
}

TEST_CASE("a checkpoint of another part is recorded as usual") {
  Layers model;
  Events events;
  train(model, {.recompute = Recompute::attention}, &events);
  CHECK(std::count(events.recorded.begin(), events.recorded.end(), "checkpoint") == 0);
}

TEST_CASE("checkpoints: observers see the same backward, and parameters are ready in the same order") {
  Layers model;
  Events kept, again;
  train(model, {}, &kept);
  train(model, {.recompute = Recompute::block}, &again);
  CHECK_EQ(again.finished, kept.finished);
  CHECK_EQ(again.ready, kept.ready);
  const std::vector<std::string> forward(again.recorded.begin(), again.recorded.begin() + 9);
  const std::vector<std::string> expected{"embedding",  "dropout",    "scale",   "checkpoint",          "checkpoint",
                                          "checkpoint", "checkpoint", "dropout", "linear_cross_entropy"};
  CHECK_EQ(forward, expected);
  CHECK_EQ(again.recorded.size(), expected.size() + 5 * kLayers);
}

TEST_CASE("the gradient of a parameter is final when it is ready, with checkpoints or without") {
  struct Keeper final : TapeObserver {
    std::vector<std::pair<Parameter*, Tensor>> seen;
    void on_parameter_ready(Parameter& p) override { seen.emplace_back(&p, p.gradient.clone()); }
  };
  for (const Recompute recompute : {Recompute::none, Recompute::block}) {
    for (const bool loss_seeded : {false, true}) {
      Layers model;
      Keeper keeper;
      train(model, {.loss_seeded = loss_seeded, .recompute = recompute}, &keeper);
      CHECK_EQ(keeper.seen.size(), 2 + 3 * kLayers);
      for (const auto& [parameter, gradient] : keeper.seen) CHECK(same_bits(parameter->gradient, gradient));
    }
  }
}

TEST_CASE("checkpoints: sparse gradients of a lookup inside") {
  Layers model;
  const auto run = [&](Recompute recompute, Events& events) {
    std::vector<SparseGradient> rows;
    model.table.sparse_gradients = &rows;
    model.parameters.gradients().zero();
    Tape tape(cpu_kernels(), {.recompute = recompute});
    tape.add_observer(events);
    const Tensor ids = Tensor::from<int32_t>({2}, std::vector<int32_t>{3, 5});
    const Var x = tape.checkpoint(Recompute::block, [&] { return embedding(tape.parameter(model.table), ids); });
    tape.backward(linear(x, tape.parameter(*model.fc1s[0])), normal_tensor({2, kFfnDim}, DType::f32, 1, 0));
    model.table.sparse_gradients = nullptr;
    REQUIRE(rows.size() == 1);
    return rows[0].gradient;
  };
  Events kept, again;
  CHECK(same_bits(run(Recompute::none, kept), run(Recompute::block, again)));
  std::sort(kept.ready.begin(), kept.ready.end());
  std::sort(again.ready.begin(), again.ready.end());
  CHECK_EQ(again.ready, kept.ready);
}

TEST_CASE("checkpoints: gradients agree with finite differences, also of nested ones") {
  const std::vector<NamedInput> inputs{{"x", normal_tensor({3, 4}, DType::f64, 1, 0)},
                                       {"w", normal_tensor({4, 4}, DType::f64, 1, 1)},
                                       {"gamma", normal_tensor({4}, DType::f64, 1, 2)}};
  const TapeFunction f = [](Tape& tape, const std::vector<Var>& in) {
    const Var x = in[0], w = in[1], gamma = in[2];
    const auto inner = [=](const Var& h) { return dropout(gelu(linear(h, w)), 0.2); };
    const Var y = tape.checkpoint(Recompute::block, [=, &tape] {
      const Var h = rms_norm(x, gamma);
      return add(h, tape.checkpoint(Recompute::block, [=] { return inner(h); }));
    });
    return add(tape.checkpoint(Recompute::block, [=] { return inner(y); }), x);
  };
  GradcheckOptions options;
  options.tape.recompute = Recompute::block;
  CHECK(all_passed(gradcheck(cpu_kernels(), f, inputs, options)));
}

TEST_CASE("checkpoints: one that returns a value from outside, and one without gradients") {
  Tape tape(cpu_kernels(), {.recompute = Recompute::block});
  const Var x = tape.leaf(Tensor::from<double>({1, 2}, std::vector<double>{1, 2}));
  const Var constant = tape.checkpoint(Recompute::block, [&] { return scale(tape.constant(x.value()), 3); });
  CHECK_FALSE(constant.requires_gradient());
  const Var y = tape.checkpoint(Recompute::block, [=] { return add(scale(x, 2), constant); });
  tape.backward(add(y, x), Tensor::from<double>({1, 2}, std::vector<double>{1, 10}));
  CHECK_EQ(tape.gradient(x).to_vector<double>(), std::vector<double>{3, 30});
}

TEST_CASE("checkpoints keep their inputs only, and free one after the other in backward") {
  constexpr int kCount = 20;
  const Tensor start = normal_tensor({64, 64}, DType::f32, 1, 0);
  Tape tape(cpu_kernels(), {.recompute = Recompute::block});
  const size_t before = memory_stats().active_bytes;
  Var y = tape.leaf(start);
  for (int i = 0; i < kCount; ++i)
    y = tape.checkpoint(Recompute::block, [y] { return gelu(gelu(gelu(gelu(scale(y, 2))))); });
  const size_t recorded = memory_stats().active_bytes;
  CHECK_LE(recorded - before, kCount * start.bytes());
  Events events;
  tape.add_observer(events);
  tape.backward(y, normal_tensor({64, 64}, DType::f32, 1, 0));
  CHECK_EQ(events.memory.size(), 5 * kCount);
  const size_t peak = *std::max_element(events.memory.begin(), events.memory.end());
  CHECK_LE(peak, recorded + 8 * start.bytes());  // the values of one checkpoint, the cotangent and current gradients
  CHECK_LE(events.memory.back(), before + 6 * start.bytes());
}

TEST_CASE("a repeated step makes no system allocation, with checkpoints or without") {
  for (const Recompute recompute : {Recompute::none, Recompute::block}) {
    Layers model;
    train(model, {.recompute = recompute});
    const MemoryStats warm = memory_stats();
    for (int i = 0; i < 3; ++i) train(model, {.recompute = recompute});
    CHECK_EQ(memory_stats().system_allocations, warm.system_allocations);
    CHECK_EQ(memory_stats().active_bytes, warm.active_bytes);
  }
}

TEST_CASE("checkpoints: the NaN finder names the op inside") {
  Layers model;
  model.fc2s[1]->value.data<float>()[0] = std::numeric_limits<float>::infinity();
  NanFinder finder;
  train(model, {.recompute = Recompute::block}, &finder);
  CHECK(finder.report().starts_with("forward: linear in layer1 gives"));
}

TEST_CASE("checkpoints: a timeline has spans of recomputation, without gaps") {
  Layers model;
  Timeline timeline({[now = 0.0]() mutable { return now++; }, [] { return memory_stats().active_bytes; }});
  train(model, {.recompute = Recompute::block}, &timeline);
  const std::vector<Span>& spans = timeline.spans();
  for (size_t i = 1; i < spans.size(); ++i) CHECK(spans[i].begin == spans[i - 1].end);
  const auto count = [&](Span::Kind kind) {
    return std::count_if(spans.begin(), spans.end(), [kind](const Span& span) { return span.kind == kind; });
  };
  CHECK(count(Span::Kind::recompute) == 5 * kLayers);
  CHECK(count(Span::Kind::forward) == 5 + kLayers);
}
