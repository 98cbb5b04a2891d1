// Tests bias gradients that the backward of a residual layer norm adds (Backward::dinput_with_bias): its kernel, and
// the tape that decides whether it does.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "gyre/autograd/ops.h"
#include "gyre/core/random.h"
#include "tests/autograd/op_run.h"
#include "tests/emulated_bf16.h"

using namespace gyre;

namespace {

Tensor random_tensor(const Shape& shape, uint64_t stream, double mean = 0) {
  RandomStream random(1, stream);
  std::vector<double> numbers(size_t(shape.elements()));
  for (double& x : numbers) x = mean + 0.5 * random.normal();
  return Tensor::from<double>(shape, numbers);
}

// The gradient of each parameter whenever it is reported as final.
struct ReadyGradients final : TapeObserver {
  std::map<std::string, std::vector<Tensor>> gradients;
  void on_parameter_ready(Parameter& p) override { gradients[p.name].push_back(p.gradient.clone()); }
};

constexpr int64_t kRows = 9, kInputs = 5, kOutputs = 7;

// A linear layer before a norm.
struct LinearAndNorm {
  Var x, residual, weight, bias, gamma, beta;
  bool fused;  // otherwise an op is between the layer and the norm
  Var linear_layer() const { return linear(x, weight, bias); }
  Var norm(const Var& y) const { return norm(residual, y, gamma, beta); }
  Var norm(const Var& r, const Var& y, const Var& g, const Var& b) const {
    return residual_layer_norm(r, fused ? y : scale(y, 1), 0.25, g, b);
  }
};

struct Network {
  std::string name;
  std::function<Var(const LinearAndNorm&)> output;
  bool constant_x = false;
  std::vector<size_t> frozen = {};  // numbers of parameters
};

Var one_layer(const LinearAndNorm& l) { return l.norm(l.linear_layer()); }
Var bias_used_twice(const LinearAndNorm& l) { return add(one_layer(l), one_layer(l)); }
Var two_consumers(const LinearAndNorm& l) {
  const Var y = l.linear_layer();
  return add(l.norm(y), l.norm(y));
}
Var unused_consumer(const LinearAndNorm& l) {
  const Var y = l.linear_layer();
  scale(y, 3);
  return l.norm(y);
}
Var also_residual(const LinearAndNorm& l) {
  const Var y = l.linear_layer();
  return l.norm(y, y, l.gamma, l.beta);
}
Var bias_is_beta(const LinearAndNorm& l) { return l.norm(l.residual, l.linear_layer(), l.gamma, l.bias); }
Var bias_is_gamma(const LinearAndNorm& l) { return l.norm(l.residual, l.linear_layer(), l.bias, l.beta); }

const std::vector<Network> kNetworks{{"one layer", one_layer},
                                     {"bias used twice", bias_used_twice},
                                     {"two consumers", two_consumers},
                                     {"a consumer that the loss does not use", unused_consumer},
                                     {"also the residual", also_residual},
                                     {"bias is beta", bias_is_beta},
                                     {"bias is gamma", bias_is_gamma},
                                     {"constant x", one_layer, true},
                                     {"frozen weight", one_layer, false, {0}},
                                     {"only a bias", one_layer, true, {0}},
                                     {"frozen bias", one_layer, false, {1}}};

// The gradients of two micro-batches: of all parameters, and of the last x unless it is a constant.
std::vector<Tensor> gradients_of(const Network& network, bool fused) {
  Parameters parameters;
  parameters.add("weight", {kOutputs, kInputs}, Init::normal(0.3));
  parameters.add("bias", {kOutputs}, Init::constant(0.1));
  parameters.add("gamma", {kOutputs}, Init::constant(1.1));
  parameters.add("beta", {kOutputs}, Init::constant(0.2));
  parameters.allocate(3);
  for (const size_t i : network.frozen) parameters[i].trainable = false;
  parameters.gradients().zero();
  Tensor dx;
  for (uint64_t batch = 0; batch < 2; ++batch) {
    Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 5});
    const Tensor x = random_tensor({kRows, kInputs}, batch).to(DType::f32);
    const Tensor residual = random_tensor({kRows, kOutputs}, 10 + batch).to(DType::f32);
    const LinearAndNorm layers{.x = network.constant_x ? tape.constant(x) : tape.leaf(x),
                               .residual = tape.leaf(residual),
                               .weight = tape.parameter(parameters[0]),
                               .bias = tape.parameter(parameters[1]),
                               .gamma = tape.parameter(parameters[2]),
                               .beta = tape.parameter(parameters[3]),
                               .fused = fused};
    const Var output = network.output(layers);
    ReadyGradients ready;
    tape.add_observer(ready);
    tape.backward(output, random_tensor({kRows, kOutputs}, 20 + batch).to(DType::f32));
    for (size_t i = 0; i < 4; ++i) {
      const Parameter& parameter = parameters[i];
      CAPTURE(parameter.name);
      const std::vector<Tensor>& reported = ready.gradients[parameter.name];
      REQUIRE(reported.size() == (parameter.trainable ? 1 : 0));
      if (parameter.trainable) CHECK(same_bits(reported[0], parameter.gradient));
    }
    if (!network.constant_x) dx = tape.gradient(layers.x);
  }
  return {parameters.gradients().clone(), dx};
}

// The identity of its first input. Its backward finds out whether it may add the bias gradient of that input.
struct Probe final : Op {
  bool* fused = nullptr;
  std::string_view name() const override { return "probe"; }
  void backward(Backward& b) override {
    const auto [dx, dbias] = b.dinput_with_bias(0);
    dx.copy_from(b.doutput());
    *fused = dbias.defined();
  }
};

// Whether a probe behind a linear layer may add its bias gradient.
bool is_fused(bool second_consumer, bool bias_is_input) {
  Tape tape(cpu_kernels(), {.record = true});
  const auto leaf = [&](const Shape& shape) { return tape.leaf(random_tensor(shape, 1)); };
  const Var bias = leaf({kOutputs}), y = linear(leaf({kRows, kInputs}), leaf({kOutputs, kInputs}), bias);
  bool fused = false;
  auto op = std::make_unique<Probe>();
  op->fused = &fused;
  const Var probe = tape.record(std::move(op), y.value().clone(), {y, bias_is_input ? bias : leaf({kOutputs})});
  tape.backward(second_consumer ? add(probe, y) : probe, random_tensor({kRows, kOutputs}, 2));
  return fused;
}

}  // namespace

TEST_CASE("layer norm on a CPU sums the gradient of a bias to the same bits as the linear layer") {
  const EmulatedBf16 emulated;
  constexpr int64_t kManyRows = 1100, kColumns = 321;
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      for (const double rate : {0.0, 0.1}) {
        CAPTURE(kernels->name());
        CAPTURE(to_string(dtype));
        CAPTURE(rate);
        const DType exact = statistics_dtype(dtype);
        const Tensor dy = random_tensor({kManyRows, kColumns}, 1).to(dtype),
                     sum = random_tensor(dy.shape(), 2).to(dtype);
        const Tensor gamma = random_tensor({kColumns}, 3, 1).to(exact), mean = random_tensor({kManyRows}, 4).to(exact);
        const Tensor rstd = random_tensor({kManyRows}, 5, 2).to(exact), before = random_tensor({kColumns}, 6).to(exact);
        const Tensor dx = dy.like(), from_norm = before.clone(), from_linear = before.clone();
        kernels->residual_layer_norm_backward(dx, {}, {}, {}, from_norm, dy, sum, gamma, mean, rstd, {rate, 1, 2});
        kernels->linear_backward({}, {}, from_linear, dx, Tensor::zeros({kManyRows, 1}, dtype),
                                 Tensor::zeros({kColumns, 1}, exact), {});
        CHECK(same_bits(from_norm, from_linear));
        CHECK_FALSE(same_bits(from_norm, before));
      }
    }
  }
}

TEST_CASE("the gradients are those of a layer that is not fused, and final when they are reported") {
  for (const Network& network : kNetworks) {
    CAPTURE(network.name);
    const std::vector<Tensor> fused = gradients_of(network, true), separate = gradients_of(network, false);
    CHECK(same_bits(fused[0], separate[0]));
    CHECK(same_bits(fused[1], separate[1]));
  }
}

TEST_CASE("an op may add the bias gradient of its input if it is the only consumer and does not use the bias") {
  CHECK(is_fused(false, false));
  CHECK_FALSE(is_fused(true, false));
  CHECK_FALSE(is_fused(false, true));
}

TEST_CASE("a bias gradient without dx is refused") {
  const Tensor rows = Tensor::zeros({2, 3}, DType::f32), row = Tensor::zeros({3}, DType::f32);
  const Tensor statistics = Tensor::zeros({2}, DType::f32);
  CHECK_THROWS_AS(cpu_kernels().residual_layer_norm_backward({}, rows.like(), {}, {}, row, rows, rows, row, statistics,
                                                             statistics, {}),
                  Error);
}
